// Lua code in colors. A field keeps its whole text; the colors are behind it.

import { make } from "/elements.js"

const words = new Set(("and break do else elseif end false for function goto if in local nil not or repeat return then true until while").split(" "))
const token = /(--\[(=*)\[[^]*?(?:\]\2\]|$)|--.*)|("(?:[^"\\\n]|\\[^])*"?|'(?:[^'\\\n]|\\[^])*'?|\[(=*)\[[^]*?(?:\]\4\]|$))|(\b\d[\w.]*)|([A-Za-z_]\w*)/g

const most = 500 // colors, because each of them is an element

/** Returns the code as nodes: comments, texts, numbers and keywords have classes; the end of a long text has none. */
export function colored(text) {
  const nodes = []
  let end = 0
  for (const found of text.matchAll(token)) {
    const [part, comment, , string, , number, name] = found
    const kind = comment ? "comment" : string ? "string" : number ? "literal" : words.has(name) ? "keyword" : null
    if (!kind) continue
    if (nodes.length > 2 * most) break
    nodes.push(text.slice(end, found.index), make("span", { class: kind }, part))
    end = found.index + part.length
  }
  return [...nodes, text.slice(end)]
}

const value = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")

/** Returns an element with the field in front of its colored text; call `field.repaint()` after `setRangeText`. */
export function codeField(field) {
  const paint = make("pre", { "aria-hidden": "true" })
  const scroll = () => {
    paint.scrollTop = field.scrollTop
    paint.scrollLeft = field.scrollLeft
  }
  field.repaint = () => {
    paint.replaceChildren(...colored(field.value), "\n")
    scroll()
  }
  Object.defineProperty(field, "value", {
    get: () => value.get.call(field),
    set(text) {
      value.set.call(field, text)
      field.repaint()
    },
  })
  field.repaint()
  field.addEventListener("input", field.repaint)
  field.addEventListener("scroll", scroll)
  return make("div", { class: "code-field" }, paint, field)
}
