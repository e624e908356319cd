"""What may be a word: patterns of letters, links, numbers, abbreviations, pictures; jieba for runs of Han characters.

It knows signs, and nothing of offsets or of what marks mean. Every pattern is possessive but at the end of a link, so
that time stays linear whatever the text.
"""

import contextlib
import functools
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import regex
from huggingface_hub import constants

from .conventions import CLOSERS, CLOSES_APART, EITHER, EMOTICON, ENCLOSING, KANA
from .patterns import Patterns

# Pictures, flags and skin tones; the signs that Unicode counts among them but print sets as letters belong to words.
_PICTURE = r"[\p{Extended_Pictographic}--[©®™ℹ]]\p{Regional_Indicator}\p{Emoji_Modifier}"
# What may be in a word, marks that are part of it included.
WORD_SIGNS = regex.compile(rf"(?V1)[^\s\p{{Cc}}\p{{Cs}}\p{{Han}}{_PICTURE}]+")
HAS_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
BLANK = regex.compile(r"\s")
_ROWS = r"""
MARK = [{MARKS}]
HYPHENS = \-‐‑
HYPHEN = [{HYPHENS}]
KEYCAP = [0-9#*]\uFE0F?+\u20E3
SIGN = [^\s\p{Cc}\p{Cs}\p{Han}{PICTURE}{ENCLOSING}{MARKS}{HYPHENS}]
HAN = \p{Han}[\p{M}\p{Cf}]*+
# Han characters beside kana, which are part of one word with them. A run of more than six, or one that a mark divides,
# is Chinese with a Japanese word beside it, and must not lose its slots. Marks do not end a run: where one was written
# into a long run, the parts stay Chinese.
SHORT_HAN = (?:{HAN}){1,6}+
AFTER_KANA = (?<=[{KANA}]\p{M}?){SHORT_HAN}(?!{MARK}*+\p{Han})
BEFORE_KANA = (?<!\p{Han}[\p{M}\p{Cf}]*{MARK}*){SHORT_HAN}(?=[{KANA}])
JAPANESE = (?=\p{Han})(?:{AFTER_KANA}|{BEFORE_KANA})
# Words whose final point belongs to them, without it; letters with points between them (u.s.a., e.g.) are others.
ABBREVIATION = (?i:mr|mrs|ms|dr|prof|st|sr|jr|rev|hon|gov|capt|lt|sgt|maj|mt|vs|etc|inc|ltd|corp|dept|approx|vol|eds|cf
    |jan|feb|apr|aug|sept|oct|nov|dec|en|pn|tn|dll|dsb|sdn|bhd|hj|hjh|jln|spt|yb|yab|ybhg|ph\.d|b\.sc|m\.sc)
LETTERS_WITH_POINTS = \d*+\p{L}\p{M}*+(?:\.\p{L}\p{M}*+)++
BEFORE_NUMBERS = (?i:no|nos|p|pp|fig|figs|ch|sec|art|eq|bil)
OWNS_POINT = (?V1)(?P<ALWAYS>{ABBREVIATION}|(?:.*{HYPHEN})?+{LETTERS_WITH_POINTS})|(?P<CAPITAL>(?!I)\p{Upper})
    |(?P<NUMBER>{BEFORE_NUMBERS})
# The gap, which may hold marks, between a point and the next word.
POINT_ALWAYS = (?V1)\.(?!\.)
POINT_CAPITAL = {POINT_ALWAYS}{MARK}*+[ ]\p{Lu}
POINT_NUMBER = {POINT_ALWAYS}{MARK}*+[ ]\p{N}
# One character of a word; and how a word continues after signs that belong to it only between its characters:
# 3.5 and example.com; 1,000, 12:30 and 1990–1995; it's; Hawai‘i; C:\file; watch?v=1; U.S.'s; U.S.-based; hyphens in a
# label set in which they are marks; file(s).
CORE = (?:[A-Za-z]++|(?!{KEYCAP}){SIGN}|{JAPANESE}|(?<!{HYPHEN})(?!{MARK}){HYPHEN}(?!{HYPHEN}))
ITS_POINT = \.(?<=(?:\.\p{L}|(?<!{SIGN}){ABBREVIATION})\.)
LETTER = (?=[\p{L}\p{N}])(?:{SIGN}|{JAPANESE})
JOINER = \.(?={SIGN})
    |(?<=\p{N})[,:：．–—‒](?=\p{N})
    |(?<=[\p{L}\p{M}\p{N}])['’＇](?=[\p{L}\p{N}])
    |(?<=\p{L})[‘`´](?=\p{L})
    |(?<=\p{Latin}):(?=[\\/])
    |\?(?=[\p{Latin}0-9_.\-]{1,40}+=)
    |{ITS_POINT}['’＇](?=[sS](?!{SIGN}))
    |{ITS_POINT}(?=(?!{MARK}){HYPHEN}{LETTER})
    |(?={MARK}){HYPHEN}(?={SIGN})
PLURAL = (?<=\p{L})\([A-Za-z]{1,2}\){CORE}*+
CONTINUED = (?:(?:{JOINER}){CORE}++|{PLURAL})*+
PLAIN = (?<![^ ])(?:[A-Za-z]++(?:'[A-Za-z]++)?+[ ])++
PICTURES = {KEYCAP}|[{PICTURE}][{PICTURE}\p{M}\u200D\U000E0020-\U000E007F]*+|{EMOTICON}
# A link ends at white space, Han and kana, and at every quote and mark that is not ASCII. Marks, brackets and pictures
# at its end do not belong to it.
SCHEME = (?:\p{Latin}[\p{Latin}0-9+.\-]{0,19}+://|www\.|mailto:)
IN_LINK = [^\s\p{Cc}\p{Cs}\p{Han}\p{Hiragana}\p{Katakana}<>"`[[{ENCLOSING}{MARKS}]--[\x00-\x7f]]]
LINK = (?<![\p{Latin}[\p{N}--\p{Han}]]){SCHEME}(?={IN_LINK}){IN_LINK}*(?<![{PICTURE}{ENCLOSING}{MARKS}])
HAN_RUN = (?!{JAPANESE})(?:{HAN})++
HAN_RUNS = {HAN_RUN}(?:{MARK}*+(?:[ ]{MARK}*+)?+{HAN_RUN})*+
# .5 and .NET begin with their point.
OTHER = (?:(?<!\S)\.(?=[\p{L}\p{N}]))?+{CORE}++{CONTINUED}
WORD = (?V1)(?P<plain>{PLAIN})|(?P<picture>{PICTURES})|(?P<link>{LINK})|(?P<han>{HAN_RUNS})|(?P<other>{OTHER})
# What closes after a word, with the marks between and the accents of the last sign: where the next word touches it, and
# where none does. Units hang on a Han word, and so does a wave where nothing follows.
UNITS = %％‰℃℉°
ACCENTS = [\p{M}\u200D]*+
TOUCHING = [{CLOSERS}{EITHER}{UNITS}]
APART = [{CLOSES_APART}{EITHER}{UNITS}~～]
CLOSING_TOUCHING = (?V1)(?:(?:(?!{TOUCHING}){MARK})*+{TOUCHING})*+{ACCENTS}
CLOSING_APART = (?V1)(?:(?:(?!{APART}){MARK})*+{APART})*+{ACCENTS}
BETWEEN = (?V1)[{ENCLOSING}{MARKS}{UNITS}~～]*+
"""

# What is spoken of a word: plain apostrophes and hyphens, nothing invisible.
SPOKEN = str.maketrans(
    dict.fromkeys("’‘`´＇ʼ", "'")
    | dict.fromkeys("‐‑", "-")
    | dict.fromkeys("\u00ad\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff", None)
)


def word_patterns(marks: Iterable[str]) -> Patterns:
    """The patterns of words, which depend on what signs are marks.

    `WORD` is everything that is or may be a word, and the pictures that are none. Its groups: `plain`, ASCII words with
    a blank before and after each; `picture`; `link`; `han`, Han characters without kana beside them, which marks and
    single blanks may interrupt; `other`, a word if it has a letter or a digit.
    """
    return Patterns(
        _ROWS,
        PICTURE=_PICTURE,
        KANA=KANA,
        EMOTICON=EMOTICON,
        MARKS=as_set(marks),
        ENCLOSING=as_set(ENCLOSING),
        CLOSERS=as_set(CLOSERS),
        EITHER=as_set(EITHER),
        CLOSES_APART=as_set(CLOSES_APART),
    )


def as_set(signs: Iterable[str]) -> str:
    """The signs as the inside of a set."""
    return "".join(f"\\U{ord(sign):08x}" for sign in sorted(signs))


# Traditional characters, Cantonese ones among them, and their simplified forms, for jieba and the encoder. Made from
# the data of OpenCC 1.4.2 (https://github.com/BYVoid/OpenCC), copyright of its authors, under the Apache License 2.0.
TRADITIONAL = "㗎丟並乜乾亂亙亞佇佈佔佢併來侖侶侷俁係俠俬俾倀倆倉個們倖倫偉側偵偽傑傖傘備傢傭傯傳傴債傷傾僂僅僉僑僕僞僥僨僱價儀儁儂億儈儉儐儔儕儘償優儲儷儺儻儼兇兌兒兗內兩冇冊冑冪凈凍凜凱別刪剄則剋剎剛剝剮剴創剷劃劄劇劉劊劌劍劑勁動務勛勝勞勢勱勳勵勸勻匭匯匱區協卹卻卽厙厠厤厭厲厴參叄叢吒吳吶呂咁咗咼哋員唄唔唸問啓啞啟啩啱啲喎喚喪喫喬單喲喺嗆嗇嗌嗎嗚嗩嗮嗰嗶嘅嘆嘍嘔嘖嘗嘜嘢嘩嘮嘯嘰嘵嘸噁噃噉噓噝噠噥噦噯噲噴噸噹嚀嚇嚌嚐嚕嚙嚟嚥嚦嚨嚮嚳嚴嚶嚿囀囁囂囅囈囌囑囪圇國圍園圓圖團垻埡埰執堅堊堖堝堯報場塊塋塏塒塗塚塢塤塵塹墊墜墮墰墳墻墾壇壎壓壘壙壚壜壞壟壠壢壩壯壺壽夠夢夥夾奐奧奩奪奬奮奼妝姍姦娛婁婦婭媧媯媼媽嫋嫗嫵嫺嫻嬀嬈嬋嬌嬙嬡嬤嬪嬰嬸孃孌孫孭學孿宮寀寢實寧審寫寬寵寶將專尋對導尷屆屍屜屢層屨屬岡峯峴島峽崍崑崗崙崢崬嵐嵗嶁嶄嶇嶗嶠嶧嶸嶺嶼嶽巋巒巔巖巰巹帥師帳帶幀幃幗幘幟幣幫幬幷幹幾庫廁廂廄廈廕廚廝廟廠廡廢廣廩廬廳弒弔弳張強彆彈彌彎彔彙彥彫彿後徑從徠復徵徹恆恥悅悵悶悽惡惱惲惻愛愜愨愴愷愾慄態慍慘慚慟慣慤慪慫慮慳慶慼慾憂憊憐憑憒憚憤憫憮憲憶懇應懌懍懞懟懣懨懲懶懷懸懺懼懾戀戇戔戧戩戰戲戶扞拋拚挱挾捨捫捱捲掃掄掙掛採揀揚換揮揾損搖搗搧搵搶摑摜摟摯摳摶摺摻撈撐撓撟撣撥撫撲撳撻撾撿擁擄擇擊擋擔據擠擡擣擬擯擰擱擲擴擷擺擻擼擾攄攆攏攔攖攙攛攜攝攞攢攣攤攪攬攰敍敎敗敘敵數斂斃斕斬斷於旂旣昇時晉晝暈暉暢暫曄曆曇曉曏曖曠曬書會朧朮東枱枴柵柺査桿梔梘條梟棄棊棖棗棟棧棲椏楊楓楨業極榘榦榪榮榿構槍槓槧槨槳樁樂樅樑樓標樞樣樸樹樺橈橋機橢橫檁檉檔檜檢檣檯檳檸檻櫃櫓櫚櫛櫝櫞櫟櫥櫧櫨櫪櫫櫬櫱櫳櫸櫻欄欅權欏欒欖欞欽歎歐歟歡歲歷歸歿殘殞殤殫殭殮殯殲殺殻殼毀毆毿氂氈氌氣氫氬氳氾汎汙決沒沖況泝洩洶浹涇涼淒淚淥淨淩淪淵淶淺渙減渦測渾湊湞湧湯溈準溝溫溼滄滅滌滎滙滬滯滲滷滸滾滿漁漚漢漣漬漲漵漸漿潁潑潔潙潛潤潯潰潷潿澀澆澇澗澠澤澩澮澱濁濃濕濘濛濟濤濫濰濱濺濼濾瀅瀆瀉瀋瀏瀕瀘瀝瀟瀠瀦瀧瀨瀰瀲瀾灃灄灑灕灘灝灣灤灧灩災為烏烴無煉煒煙煢煥煩煬熒熗熱熾燁燈燉燒燙燜營燦燬燭燴燻燼燾爍爐爛爭爲爺爾牀牆牘牴牽犖犛犢犧狀狹狽猙猶猻獁獃獄獅獎獨獪獫獰獲獵獷獸獺獻獼玀現琱琺琿瑋瑣瑤瑩瑪璉璣璦環璽璿瓊瓏瓔瓚甌甕產産畀畝畢畫異畵當疇疊痙痠痾瘂瘋瘍瘓瘞瘡瘧瘺瘻療癆癇癉癒癘癟癡癢癤癥癧癩癬癭癮癰癱癲發皁皚皰皸皺盃盜盞盡監盤盧盪眞眥眾睇睏睜睞瞓瞘瞞瞼矇矚矯硃硤硨硯碩碭碸確碼磚磣磧磯磽礎礙礦礪礫礬礱祕祿禍禎禦禪禮禰禱禿秈稅稈稜稟種稱穀穌積穎穡穢穩穫窩窪窮窯窶窺竄竅竇竈竊竪競筆筍筧箇箋箏箚節範築篋篤篩篳簀簍簑簞簡簣簫簽簾籃籌籜籟籠籤籩籪籬籮籲粧粵糉糝糞糧糭糰糲糴糶糹糾紀紂約紅紆紇紈紉紋納紐紓純紕紗紙級紛紜紡紮細紱紲紳紹紺紼紿絀終絃組絆絎結絕絛絝絞絡絢給絨統絲絳絶絹綁綃綆綈綉綏綑經綜綞綠綢綣綫綬維綰綱網綳綴綵綸綹綺綻綽綾綿緄緇緊緋緑緒緔緗緘緙線緝緞締緡緣緦編緩緬緯緱緲練緶緹緻縈縉縊縋縐縑縛縝縞縟縣縧縫縭縮縱縲縴縵縶縷縹總績繃繅繆繒織繕繚繞繡繢繩繪繫繭繮繯繰繳繹繼繽繾纈纊續纍纏纓纔纖纘纜缽罈罌罎罰罵罷羅羆羈羋羣羥羨義羶習翫翹耬耮聖聞聯聰聲聳聵聶職聹聽聾肅脅脈脛脣脩脫脹腎腖腡腦腫腳腸膃膚膠膩膽膾膿臉臍臏臘臚臟臠臥臨臺與興舉舊舖舘艙艤艦艫艱艷芻苧茲荊莊莖莢莧華菴菸萇萊萬萵葉葒葤葦葯葷蒐蒓蒔蒞蒼蓀蓆蓋蓮蓯蓴蓽蔔蔘蔞蔣蔥蔦蔭蕁蕆蕎蕒蕓蕕蕘蕢蕩蕪蕭蕷薈薊薌薑薔薟薦薩薹薺藍藎藝藥藪藴藶藹藺蘄蘆蘇蘊蘋蘚蘞蘢蘭蘺蘿處虛虜號虧虯蛺蛻蜆蝕蝟蝦蝨蝸螄螞螢螻蟄蟈蟎蟣蟬蟯蟲蟶蟻蠅蠆蠍蠐蠑蠔蠟蠣蠱蠶蠻衆衊術衕衚衛衝衞衹袞袷裊裏補裝裡製複褲褳褸褻襇襉襖襝襠襤襪襬襯襲覈見規覓視覘覡覦親覬覯覲覷覺覽覿觀觴觶觸訁訂訃計訊訌討訐訓訕訖託記訛訝訟訣訥訪設許訴訶診註証詁詆詎詐詒詔評詘詛詞詠詡詢詣試詩詫詬詭詮詰話該詳詵詼詿誄誅誆誇誌認誑誒誕誘誚語誠誡誣誤誥誦誨說説誰課誶誹誼調諂諄談諉請諍諏諑諒論諗諛諜諞諡諢諤諦諧諫諭諮諱諳諶諷諸諺諼諾謀謁謂謄謅謊謎謐謔謖謗謙謚講謝謠謡謨謫謬謭謳謹謾譁證譎譏譖識譙譚譜譟譫譭譯議譴護譽譾讀變讎讒讓讕讖讚讜讞谂谿豈豎豐豔豬貍貓貝貞負財貢貧貨販貪貫責貯貰貲貳貴貶買貸貺費貼貽貿賀賁賂賃賄賅資賈賊賑賒賓賕賚賜賞賠賡賢賣賤賦賧質賫賬賭賴賺賻購賽賾贄贅贈贊贋贍贏贐贓贖贗贛贜趕趙趨趲跡踐踰踴蹌蹕蹟蹠蹣蹤蹺躉躊躋躍躑躒躓躕躚躡躥躦躪軀車軋軌軍軒軔軛軟軤軫軲軸軹軺軻軼軾較輅輇載輊輒輓輔輕輛輜輝輞輟輥輦輩輪輯輳輸輻輾輿轂轄轅轆轉轍轎轔轟轡轢轤辦辭辮辯農迴逕這連週進遊運過達違遙遜遞遠遡適遲遶遷選遺遼邁還邇邊邏邐郟郵鄆鄉鄒鄔鄖鄧鄭鄰鄲鄴鄶鄺酈醃醖醜醞醣醫醬釀釁釃釅釋釐釒釓釔釕釗釘釙針釣釤釦釧釩釵釷釹釺鈀鈁鈄鈅鈈鈉鈍鈎鈐鈑鈔鈕鈞鈡鈣鈥鈦鈧鈮鈰鈳鈴鈷鈸鈹鈺鈽鈾鈿鉀鉅鉆鉈鉉鉍鉑鉕鉗鉚鉛鉞鉢鉤鉦鉬鉭鉳鉸鉺鉻鉿銀銃銅銑銓銖銘銚銜銠銣銥銦銨銩銪銫銬銱銳銷銹銻銼鋁鋃鋅鋇鋌鋏鋒鋝鋟鋣鋤鋥鋦鋨鋪鋭鋮鋯鋰鋱鋶鋸鋼錁錄錆錇錈錐錒錕錘錙錚錛錟錠錢錦錨錫錮錯録錳錶錸錼鍀鍁鍃鍅鍆鍇鍊鍋鍍鍔鍘鍛鍤鍥鍩鍬鍰鍵鍶鍺鍼鍾鎂鎄鎇鎊鎌鎖鎘鎚鎢鎣鎦鎧鎩鎪鎬鎭鎮鎰鎳鎵鎸鎿鏃鏇鏈鏌鏍鏑鏗鏘鏜鏝鏞鏟鏡鏢鏤鏨鏵鏷鏹鏽鐃鐋鐐鐒鐓鐔鐘鐙鐝鐠鐦鐧鐨鐫鐮鐲鐳鐵鐸鐺鐿鑄鑊鑌鑑鑒鑔鑠鑣鑥鑭鑰鑲鑷鑹鑼鑽鑾鑿钁長門閂閃閆閉開閌閎閏閑閒間閔閘閡閣閤閥閨閩閫閬閭閱閲閶閹閻閼閽閾閿闃闆闇闈闊闋闌闐闔闕闖關闞闡闢闥陘陝陞陣陰陳陸陽隉隊階隕際隨險隱隴隸隻雋雖雙雛雜雞離難雲電霑霧霽靂靄靈靚靜靦靨鞏鞝鞦鞽韁韃韆韉韋韌韓韙韜韝韞韻響頁頂頃項順頇須頊頌頎頏預頑頒頓頗領頜頡頤頦頭頰頷頸頹頻頽顆題額顎顏顓顔願顙顛類顢顥顧顫顬顯顰顱顳顴風颮颯颱颳颶颼飄飆飈飛飠飢飩飪飫飭飯飱飲飴飼飽飾餃餅餈餉養餌餑餒餓餘餚餛餞餡館餬餱餳餵餷餼餾餿饃饅饈饉饊饋饌饑饒饗饜饞饢馬馭馮馱馳馴駁駐駑駒駔駕駘駙駛駝駟駡駢駭駱駿騁騅騍騎騏騖騙騫騭騮騰騶騷騸騾驀驁驂驃驄驅驊驍驏驕驗驚驛驟驢驤驥驪骯髏髒體髕髖髮鬆鬍鬚鬢鬥鬧鬨鬩鬮鬱魎魘魚魯魴魷鮁鮃鮎鮐鮑鮒鮚鮝鮞鮪鮫鮭鮮鯀鯁鯇鯉鯊鯔鯖鯗鯛鯝鯡鯢鯤鯧鯨鯪鯫鯰鯴鯽鯿鰈鰉鰍鰐鰒鰓鰠鰣鰥鰨鰩鰭鰱鰲鰳鰵鰷鰹鰻鰾鱅鱈鱉鱒鱔鱖鱗鱘鱝鱟鱧鱭鱷鱸鱺鳥鳧鳩鳬鳳鳴鳶鴆鴇鴉鴕鴛鴝鴟鴣鴦鴨鴯鴰鴻鴿鵂鵑鵒鵓鵜鵝鵠鵡鵪鵬鵯鵰鵲鶇鶉鶓鶘鶚鶥鶩鶯鶴鶻鶼鶿鷀鷂鷄鷓鷗鷙鷚鷥鷦鷯鷲鷳鷴鷸鷹鷺鸌鸕鸚鸛鸝鸞鹵鹹鹺鹼鹽麗麥麩麪麫麯麴麵麼麽黃黌點黨黲黴黷黽黿鼉鼕鼴齊齋齎齏齒齔齙齜齟齠齡齣齦齧齪齬齲齶齷龍龐龔龕龜"  # noqa: E501
SIMPLIFIED_FORMS = "的丢并什干乱亘亚伫布占他并来仑侣局俣系侠私给伥俩仓个们幸伦伟侧侦伪杰伧伞备家佣偬传伛债伤倾偻仅佥侨仆伪侥偾雇价仪俊侬亿侩俭傧俦侪尽偿优储俪傩傥俨凶兑儿兖内两没册胄幂净冻凛凯别删刭则克刹刚剥剐剀创铲划札剧刘刽刿剑剂劲动务勋胜劳势劢勋励劝匀匦汇匮区协恤却即厍厕历厌厉厣参叁丛咤吴呐吕这了呙们员呗不念问启哑启吧对些哦唤丧吃乔单哟在呛啬叫吗呜唢完那哔的叹喽呕啧尝唛事哗唠啸叽哓呒恶吧这嘘咝哒哝哕嗳哙喷吨当咛吓哜尝噜啮来咽呖咙向喾严嘤块啭嗫嚣冁呓苏嘱囱囵国围园圆图团坝垭采执坚垩垴埚尧报场块茔垲埘涂冢坞埙尘堑垫坠堕坛坟墙垦坛埙压垒圹垆坛坏垄垅坜坝壮壶寿够梦伙夹奂奥奁夺奖奋姹妆姗奸娱娄妇娅娲妫媪妈袅妪妩娴娴妫娆婵娇嫱嫒嬷嫔婴婶娘娈孙背学孪宫采寝实宁审写宽宠宝将专寻对导尴届尸屉屡层屦属冈峰岘岛峡崃昆岗仑峥岽岚岁嵝崭岖崂峤峄嵘岭屿岳岿峦巅岩巯卺帅师帐带帧帏帼帻帜币帮帱并干几库厕厢厩厦荫厨厮庙厂庑废广廪庐厅弑吊弪张强别弹弥弯录汇彦雕佛后径从徕复征彻恒耻悦怅闷凄恶恼恽恻爱惬悫怆恺忾栗态愠惨惭恸惯悫怄怂虑悭庆戚欲忧惫怜凭愦惮愤悯怃宪忆恳应怿懔蒙怼懑恹惩懒怀悬忏惧慑恋戆戋戗戬战戏户捍抛拼挲挟舍扪挨卷扫抡挣挂采拣扬换挥找损摇捣扇找抢掴掼搂挚抠抟折掺捞撑挠挢掸拨抚扑揿挞挝捡拥掳择击挡担据挤抬捣拟摈拧搁掷扩撷摆擞撸扰摅撵拢拦撄搀撺携摄拿攒挛摊搅揽累叙教败叙敌数敛毙斓斩断于旗既升时晋昼晕晖畅暂晔历昙晓向暧旷晒书会胧术东台拐栅拐查杆栀枧条枭弃棋枨枣栋栈栖桠杨枫桢业极矩干杩荣桤构枪杠椠椁桨桩乐枞梁楼标枢样朴树桦桡桥机椭横檩柽档桧检樯台槟柠槛柜橹榈栉椟橼栎橱槠栌枥橥榇蘖栊榉樱栏榉权椤栾榄棂钦叹欧欤欢岁历归殁残殒殇殚僵殓殡歼杀壳壳毁殴毵牦毡氇气氢氩氲泛泛污决没冲况溯泄汹浃泾凉凄泪渌净凌沦渊涞浅涣减涡测浑凑浈涌汤沩准沟温湿沧灭涤荥汇沪滞渗卤浒滚满渔沤汉涟渍涨溆渐浆颍泼洁沩潜润浔溃滗涠涩浇涝涧渑泽泶浍淀浊浓湿泞蒙济涛滥潍滨溅泺滤滢渎泻沈浏濒泸沥潇潆潴泷濑弥潋澜沣滠洒漓滩灏湾滦滟滟灾为乌烃无炼炜烟茕焕烦炀荧炝热炽烨灯炖烧烫焖营灿毁烛烩熏烬焘烁炉烂争为爷尔床墙牍抵牵荦牦犊牺状狭狈狰犹狲犸呆狱狮奖独狯猃狞获猎犷兽獭献猕猡现雕珐珲玮琐瑶莹玛琏玑瑷环玺璇琼珑璎瓒瓯瓮产产给亩毕画异画当畴叠痉酸疴痖疯疡痪瘗疮疟瘘瘘疗痨痫瘅愈疠瘪痴痒疖症疬癞癣瘿瘾痈瘫癫发皂皑疱皲皱杯盗盏尽监盘卢荡真眦众看困睁睐睡眍瞒睑蒙瞩矫朱硖砗砚硕砀砜确码砖碜碛矶硗础碍矿砺砾矾砻秘禄祸祯御禅礼祢祷秃籼税秆棱禀种称谷稣积颖穑秽稳获窝洼穷窑窭窥窜窍窦灶窃竖竞笔笋笕个笺筝札节范筑箧笃筛筚箦篓蓑箪简篑箫签帘篮筹箨籁笼签笾簖篱箩吁妆粤粽糁粪粮粽团粝籴粜纟纠纪纣约红纡纥纨纫纹纳纽纾纯纰纱纸级纷纭纺扎细绂绁绅绍绀绋绐绌终弦组绊绗结绝绦绔绞络绚给绒统丝绛绝绢绑绡绠绨绣绥捆经综缍绿绸绻线绶维绾纲网绷缀彩纶绺绮绽绰绫绵绲缁紧绯绿绪绱缃缄缂线缉缎缔缗缘缌编缓缅纬缑缈练缏缇致萦缙缢缒绉缣缚缜缟缛县绦缝缡缩纵缧纤缦絷缕缥总绩绷缫缪缯织缮缭绕绣缋绳绘系茧缰缳缲缴绎继缤缱缬纩续累缠缨才纤缵缆钵坛罂坛罚骂罢罗罴羁芈群羟羡义膻习玩翘耧耢圣闻联聪声耸聩聂职聍听聋肃胁脉胫唇修脱胀肾胨脶脑肿脚肠腽肤胶腻胆脍脓脸脐膑腊胪脏脔卧临台与兴举旧铺馆舱舣舰舻艰艳刍苎兹荆庄茎荚苋华庵烟苌莱万莴叶荭荮苇药荤搜莼莳莅苍荪席盖莲苁莼荜卜参蒌蒋葱茑荫荨蒇荞荬芸莸荛蒉荡芜萧蓣荟蓟芗姜蔷莶荐萨苔荠蓝荩艺药薮蕴苈蔼蔺蕲芦苏蕴苹藓蔹茏兰蓠萝处虚虏号亏虬蛱蜕蚬蚀猬虾虱蜗蛳蚂萤蝼蛰蝈螨虮蝉蛲虫蛏蚁蝇虿蝎蛴蝾蚝蜡蛎蛊蚕蛮众蔑术同胡卫冲卫只衮夹袅里补装里制复裤裢褛亵裥裥袄裣裆褴袜摆衬袭核见规觅视觇觋觎亲觊觏觐觑觉览觌观觞觯触讠订讣计讯讧讨讦训讪讫托记讹讶讼诀讷访设许诉诃诊注证诂诋讵诈诒诏评诎诅词咏诩询诣试诗诧诟诡诠诘话该详诜诙诖诔诛诓夸志认诳诶诞诱诮语诚诫诬误诰诵诲说说谁课谇诽谊调谄谆谈诿请诤诹诼谅论想谀谍谝谥诨谔谛谐谏谕咨讳谙谌讽诸谚谖诺谋谒谓誊诌谎谜谧谑谡谤谦谥讲谢谣谣谟谪谬谫讴谨谩哗证谲讥谮识谯谭谱噪谵毁译议谴护誉谫读变雠谗让谰谶赞谠谳想溪岂竖丰艳猪狸猫贝贞负财贡贫货贩贪贯责贮贳赀贰贵贬买贷贶费贴贻贸贺贲赂赁贿赅资贾贼赈赊宾赇赉赐赏赔赓贤卖贱赋赕质赍账赌赖赚赙购赛赜贽赘赠赞赝赡赢赆赃赎赝赣赃赶赵趋趱迹践逾踊跄跸迹跖蹒踪跷趸踌跻跃踯跞踬蹰跹蹑蹿躜躏躯车轧轨军轩轫轭软轷轸轱轴轵轺轲轶轼较辂辁载轾辄挽辅轻辆辎辉辋辍辊辇辈轮辑辏输辐辗舆毂辖辕辘转辙轿辚轰辔轹轳办辞辫辩农回径这连周进游运过达违遥逊递远溯适迟绕迁选遗辽迈还迩边逻逦郏邮郓乡邹邬郧邓郑邻郸邺郐邝郦腌酝丑酝糖医酱酿衅酾酽释厘钅钆钇钌钊钉钋针钓钐扣钏钒钗钍钕钎钯钫钭钥钚钠钝钩钤钣钞钮钧钟钙钬钛钪铌铈钶铃钴钹铍钰钸铀钿钾巨钻铊铉铋铂钷钳铆铅钺钵钩钲钼钽锫铰铒铬铪银铳铜铣铨铢铭铫衔铑铷铱铟铵铥铕铯铐铞锐销锈锑锉铝锒锌钡铤铗锋锊锓铘锄锃锔锇铺锐铖锆锂铽锍锯钢锞录锖锫锩锥锕锟锤锱铮锛锬锭钱锦锚锡锢错录锰表铼镎锝锨锪钫钔锴炼锅镀锷铡锻锸锲锘锹锾键锶锗针钟镁锿镅镑镰锁镉锤钨蓥镏铠铩锼镐镇镇镒镍镓镌镎镞旋链镆镙镝铿锵镗镘镛铲镜镖镂錾铧镤镪锈铙铴镣铹镦镡钟镫镢镨锎锏镄镌镰镯镭铁铎铛镱铸镬镔鉴鉴镲铄镳镥镧钥镶镊镩锣钻銮凿镢长门闩闪闫闭开闶闳闰闲闲间闵闸阂阁合阀闺闽阃阆闾阅阅阊阉阎阏阍阈阌阒板暗闱阔阕阑阗阖阙闯关阚阐辟闼陉陕升阵阴陈陆阳陧队阶陨际随险隐陇隶只隽虽双雏杂鸡离难云电沾雾霁雳霭灵靓静腼靥巩绱秋鞒缰鞑千鞯韦韧韩韪韬鞲韫韵响页顶顷项顺顸须顼颂颀颃预顽颁顿颇领颌颉颐颏头颊颔颈颓频颓颗题额颚颜颛颜愿颡颠类颟颢顾颤颥显颦颅颞颧风飑飒台刮飓飕飘飙飚飞饣饥饨饪饫饬饭飧饮饴饲饱饰饺饼糍饷养饵饽馁饿余肴馄饯馅馆糊糇饧喂馇饩馏馊馍馒馐馑馓馈馔饥饶飨餍馋馕马驭冯驮驰驯驳驻驽驹驵驾骀驸驶驼驷骂骈骇骆骏骋骓骒骑骐骛骗骞骘骝腾驺骚骟骡蓦骜骖骠骢驱骅骁骣骄验惊驿骤驴骧骥骊肮髅脏体髌髋发松胡须鬓斗闹哄阋阄郁魉魇鱼鲁鲂鱿鲅鲆鲇鲐鲍鲋鲒鲞鲕鲔鲛鲑鲜鲧鲠鲩鲤鲨鲻鲭鲞鲷鲴鲱鲵鲲鲳鲸鲮鲰鲶鲺鲫鳊鲽鳇鳅鳄鳆鳃鳋鲥鳏鳎鳐鳍鲢鳌鳓鳘鲦鲣鳗鳔鳙鳕鳖鳟鳝鳜鳞鲟鲼鲎鳢鲚鳄鲈鲡鸟凫鸠凫凤鸣鸢鸩鸨鸦鸵鸳鸲鸱鸪鸯鸭鸸鸹鸿鸽鸺鹃鹆鹁鹈鹅鹄鹉鹌鹏鹎雕鹊鸫鹑鹋鹕鹗鹛鹜莺鹤鹘鹣鹚鹚鹞鸡鹧鸥鸷鹨鸶鹪鹩鹫鹇鹇鹬鹰鹭鹱鸬鹦鹳鹂鸾卤咸鹾碱盐丽麦麸面面曲曲面么么黄黉点党黪霉黩黾鼋鼍冬鼹齐斋赍齑齿龀龅龇龃龆龄出龈啮龊龉龋腭龌龙庞龚龛龟"  # noqa: E501
SIMPLIFIED = str.maketrans(TRADITIONAL, SIMPLIFIED_FORMS)

# jieba's own default is a file in the shared temporary folder, which another user may own or have written.
JIEBA_CACHE = os.path.join(constants.HF_HOME, "punctuation-restoration")
# This one, here and the like, which jieba would cut after 呢. In Mandarin 呢 ends a clause, but their other halves do
# not begin one unless in longer words (个人), which jieba prefers.
CANTONESE_WORDS = "呢度 呢個 呢啲 呢位 呢次 呢件 呢間 呢排 呢樣 呢句".split()


class HanSegmenter:
    """Cuts Han text into words by jieba, which is loaded at the first Han text.

    jieba's dictionary is Simplified, so it is shown every character's simplified form; the words keep their own.

    Args:
        dictionary: path of a jieba user dictionary, or its lines: one `word [frequency [tag]]` each.

    Raises:
        ImportError: at the first Han text, if jieba is not installed.
        ValueError: if there is no dictionary in UTF-8 at the path, or a word to add is empty.
    """

    def __init__(self, dictionary: str | os.PathLike[str] | Iterable[str] | None = None) -> None:
        try:
            lines: Any = dictionary or ()
            if isinstance(dictionary, str | os.PathLike):
                lines = filter(None, Path(dictionary).read_text("utf-8").splitlines())
        except (OSError, ValueError) as error:
            raise ValueError(
                f"Expected a jieba dictionary in UTF-8 (`word frequency tag` a line) at {dictionary}, got: {error}. "
                "Correct the path or the file, or give the words themselves in a list."
            ) from error
        self.lines = tuple(lines)
        if not all(isinstance(line, str) and line for line in self.lines):
            raise ValueError(
                f"Expected words in jieba_dictionary, got {self.lines!r:.80}. Correct the list."
            )

    def __call__(self, run: str) -> list[str]:
        """Words of `run`, in order; joined they are `run`."""
        # Without jieba's hidden Markov model, which joins characters to words that no dictionary has: such words
        # swallow 0.9 % of the marks of real talks, dictionary words 0.35 %, for 2 % more words (docs/log.md).
        if len(run) == 1:
            return [run]
        words = self._tokenizer.tokenize(run.translate(SIMPLIFIED), HMM=False)
        return [run[start:end] for _, start, end in words]

    @functools.cached_property
    def _tokenizer(self) -> Any:
        return _load_jieba(self.lines)


@functools.lru_cache(maxsize=4)
def _load_jieba(lines: tuple[str, ...]) -> Any:
    try:
        import jieba  # here, because it takes as long to load as all of this package
    except ImportError as error:
        raise ImportError(
            "Expected jieba, which finds the words of Mandarin text; it is not installed. Run `pip install jieba`."
        ) from error
    # With a read-only home jieba builds its table anew, in a second: no news.
    jieba.setLogLevel(logging.CRITICAL)
    with contextlib.suppress(OSError):
        os.makedirs(JIEBA_CACHE, exist_ok=True)
    tokenizer = jieba.Tokenizer()
    tokenizer.tmp_dir = JIEBA_CACHE
    tokenizer.initialize()
    for word in CANTONESE_WORDS:
        tokenizer.suggest_freq(word.translate(SIMPLIFIED), tune=True)
    tokenizer.load_userdict(line.translate(SIMPLIFIED) for line in lines)
    return tokenizer
