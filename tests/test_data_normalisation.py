"""Numbers in words: hand-written pairs for four languages."""

import pytest

from punctuation_restoration.data.normalisation import NumberSpeller, han_number

pytest.importorskip("num2words")


@pytest.mark.parametrize(
    ("language", "written", "spoken"),
    [
        ("en", "I have 3 dogs, and 21 cats.", "I have three dogs, and twenty one cats."),
        ("en", "In 1999, it was 1,200.", "In nineteen ninety nine, it was one thousand two hundred."),
        ("en", "$3.5 million? 25%!", "three point five million dollars? twenty five percent!"),
        ("en", "Call 012-345 6789.", "Call zero one two three four five six seven eight nine."),
        ("en", "See https://www.example.com/a.", "See www dot example dot com slash a."),
        ("en", "Write to me@example.org, B2B at 12:30.", "Write to me at example dot org, B2B at 12:30."),
        ("ms", "Harga RM28 naik 8.5%.", "Harga dua puluh lapan ringgit naik lapan perpuluhan lima peratus."),
        ("id", "Harga Rp28.", "Harga dua puluh delapan rupiah."),
        ("zh", "2024年有1203人，占25%。", "二零二四年有一千二百零三人，占百分之二十五。"),
        ("zh", "花了$5万。", "花了五万美元。"),
        ("de", "Es sind 3.", "Es sind drei."),
        ("en", "The 21st of May, his 3rd.", "The twenty first of May, his third."),
        ("en", "Dial 0123456789.", "Dial zero one two three four five six seven eight nine."),
        ("en", "2020-06-30, £5m, 16:9 and 1km.", "2020-06-30, £5m, 16:9 and 1km."),
        ("en", "It is 5°C, v=2, AS$3, 4￥ or (12).", "It is 5°C, v=2, AS$3, 4￥ or (twelve)."),
        ("zh", "气温5°C，他有3个。", "气温5°C，他有三个。"),
        ("ms", "Telefon 0123456789.", "Telefon kosong satu dua tiga empat lima enam tujuh lapan sembilan."),
        ("ms", "Kali ke-1, kali ke-3, 5.5 kg.", "Kali pertama, kali ketiga, lima perpuluhan lima kg."),
        ("ms", "RM5 juta, 21st.", "lima juta ringgit, 21st."),
        (
            "id",
            "Harganya Rp 1.500.000, Rp2.500,50 dan 2,5 untuk 3.",
            "Harganya Rp 1.500.000, Rp2.500,50 dan 2,5 untuk tiga.",
        ),
        ("es", "Son 1.200 euros y 3.", "Son 1.200 euros y tres."),
        ("zh", "电话13812345678。", "电话一三八一二三四五六七八。"),
    ],
)
def test_worked_pairs(language: str, written: str, spoken: str) -> None:
    assert NumberSpeller(language)(written) == spoken


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        ("0", "零"), ("10", "十"), ("20", "二十"), ("101", "一百零一"), ("110", "一百一十"), ("2000", "二千"),
        ("10001", "一万零一"), ("10500", "一万零五百"), ("100500", "十万零五百"), ("20000300", "二千万零三百"),
        ("120000003", "一亿二千万零三"), ("3.05", "三点零五"),
    ],
)  # fmt: skip
def test_han_numbers(digits: str, said: str) -> None:
    assert han_number(digits) == said


def test_a_language_that_nobody_can_count_in_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"got 'xx'.*spoken_forms"):
        NumberSpeller("xx")
