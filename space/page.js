// Makes the page answer without its server: switch before and after, change doubtful marks, copy, download, link, count.
(() => {
  const NUMBER = /([\u{1E8D0}-\u{1E8D6}]{7})/u   // stands before a mark; see views.py
  const MAX = 200000                         // characters of a text
  const chosen = new WeakMap()               // card -> the number of the choice for each mark

  const resultOf = card => JSON.parse(card.dataset.result)
  const choiceOf = card => chosen.get(card) ?? chosen.set(card, {}).get(card)

  // The text of a card in one format, with the marks as they are chosen. JSON may have them as escapes.
  const escaped = text => text.replace(/./gs, sign => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"))
  function written(card, format) {
    const {choices, files} = resultOf(card), choice = choiceOf(card)
    const [begin, ...rest] = files[format].split(NUMBER)
    const parts = [begin]
    for (let n = 0; n < rest.length; n += 2) {
      const digits = Array.from(rest[n], sign => sign.codePointAt(0) - 0x1E8D0)
      const number = digits.reduceRight((sum, digit) => sum * 7 + digit, 0)
      const [signs, , of] = choices[number], following = rest[n + 1]   // `Choices` of views.py
      const old = signs[0], sign = signs[choice[of ?? number] ?? 0]
      if (following.startsWith(old)) parts.push(sign, following.slice(old.length))
      else parts.push(sign > "~" ? escaped(sign) : sign, following.slice(escaped(old).length))
    }
    return parts.join("")
  }

  // Put the next best mark into a doubtful place.
  function change(place) {
    const card = place.closest(".card"), number = place.dataset.number
    const {choices} = resultOf(card), choice = choiceOf(card), [signs] = choices[number]
    choice[number] = ((choice[number] ?? 0) + 1) % signs.length
    place.querySelector("ins").textContent = signs[choice[number]]
    for (const letter of card.querySelectorAll("[data-letter]")) {   // a capital after a full stop
      const [letters, , of] = choices[letter.dataset.letter]
      if (of === Number(number)) letter.textContent = letters[choice[number]]
    }
    place.querySelectorAll(".choices span").forEach((one, n) => one.classList.toggle("on", n === choice[number]))
  }

  // What a doubtful mark could be is shown below its word, and inside the text's edges.
  function showChoices(event) {
    const place = event.target.closest?.(".doubt")
    if (!place) return
    const listed = place.querySelector(".choices"), text = place.closest(".shown"), lines = [...place.getClientRects()]
    const left = lines.at(-1).left - text.getBoundingClientRect().left
    listed.style.left = `${Math.max(0, Math.min(left, text.clientWidth - listed.getBoundingClientRect().width))}px`
  }
  document.addEventListener("mouseover", showChoices)
  document.addEventListener("focusin", showChoices)

  // A text in the encoding of the visitor's own file.
  function encoded(text, encoding) {
    if (encoding.endsWith("-sig")) text = "\ufeff" + text
    const width = encoding.startsWith("utf-16") ? 2 : encoding.startsWith("utf-32") ? 4 : 0
    if (!width) return new TextEncoder().encode(text)
    const units = width === 2 ? Array.from({length: text.length}, (_, n) => text.charCodeAt(n))
      : Array.from(text, sign => sign.codePointAt(0))
    const view = new DataView(new ArrayBuffer(units.length * width)), isLittle = encoding.includes("le")
    units.forEach((unit, n) => width === 2 ? view.setUint16(n * 2, unit, isLittle) : view.setUint32(n * 4, unit, isLittle))
    return view.buffer
  }

  function save(card, format) {
    const {encoding, name, files} = resultOf(card)
    const isOwn = format === Object.keys(files)[0]
    const bytes = encoded(written(card, format), isOwn ? encoding : "utf-8")
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([bytes], {type: "application/octet-stream"}))
    link.download = `${name}.${format}`
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60000)
  }

  // The text behind the # of an address, which no browser sends to a server: compressed, in letters of addresses.
  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer()
  async function linkTo(text) {
    const packed = new Uint8Array(await through(text, new CompressionStream("deflate-raw")))
    const letters = btoa(Array.from(packed, byte => String.fromCharCode(byte)).join(""))
    return `${location.origin}${location.pathname}#text=${letters.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "")}`
  }
  async function linkedText() {
    const letters = location.hash.match(/^#text=([\w-]+)$/)?.[1]
    if (!letters) return null
    try {
      const packed = Uint8Array.from(atob(letters.replace(/-/g, "+").replace(/_/g, "/")), sign => sign.charCodeAt(0))
      const text = new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw")))
      return text.length > MAX ? null : text
    } catch { return null }   // a link that was cut off
  }

  async function copy(text, button) {
    if (navigator.clipboard) await navigator.clipboard.writeText(text)
    else {                     // the page is served without encryption, from another machine
      const area = document.body.appendChild(document.createElement("textarea"))
      area.value = text
      area.select()
      document.execCommand("copy")
      area.remove()
    }
    const label = button.textContent
    button.textContent = "Copied"
    setTimeout(() => button.textContent = label, 1500)
  }

  function show(card, what) {
    card.querySelector(".shown").hidden = what === "before"
    card.querySelector(".before").hidden = what === "after"
    card.querySelectorAll(".switch button").forEach(one => one.setAttribute("aria-pressed", one.dataset.do === what))
  }

  const actions = {
    before: card => show(card, "before"),
    after: card => show(card, "after"),
    copy: (card, button) => copy(written(card, resultOf(card).shown), button),
    save: (card, button) => save(card, button.dataset.format),
    link: async (card, button) => copy(await linkTo(card.querySelector(".before").textContent), button),
  }

  document.addEventListener("click", event => {
    const place = event.target.closest?.(".doubt"), button = event.target.closest?.("[data-do]")
    if (place) change(place)
    else if (button && button.textContent !== "Copied") actions[button.dataset.do](button.closest(".card"), button)
  })
  document.addEventListener("keydown", event => {
    if (!event.target.classList?.contains("doubt") || !["Enter", " "].includes(event.key)) return
    event.preventDefault()
    change(event.target)
  })

  // How long the text is; Restore is there only for a text that can be restored.
  function count(text) {
    const n = Array.from(text ?? "").length, told = document.querySelector("#count")
    if (!told) return
    told.textContent = `${n.toLocaleString("en")} of ${MAX.toLocaleString("en")} characters`
    told.classList.toggle("too-long", n > MAX)
    if (n > MAX) told.textContent += ": too long, split the text"
    document.querySelector("#press").disabled = n > MAX || !text.trim()
  }

  // The text with which the page opens: that of the link, or the example.
  async function opened(example) {
    const text = await linkedText() ?? example
    count(text)
    return text
  }

  window.restoration = {count, opened}
})()
