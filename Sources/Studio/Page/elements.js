// Elements, values and places. Values reach the page as text only.

/** Creates an element: attributes, `onEvent` listeners, and children that are nodes or texts. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === "function") element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? "" : value)
  }
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

export const countText = (count) => `${count} ${count === 1 ? "object" : "objects"}`

// Places --------------------------------------------------------------------------------------------------------------

/** Returns the fragment of a place: a view, a class, a filter, an order, an object that it is linked to, and a version. */
export function fragment({ view, class: name, where, sort, linked, reveal, at, panel }) {
  if (view === "panel") return `#/panel/${encodeURIComponent(panel)}`
  const query = new URLSearchParams()
  if (where) query.set("where", where)
  if (sort?.length) query.set("sort", sort.map(([path, order]) => (order === "descending" ? "-" : "") + path).join(","))
  if (linked) query.set("linked", `${linked.class}:${linked.ref}:${linked.property}`)
  if (reveal !== undefined && reveal !== null) query.set("object", reveal)
  if (at) query.set("at", at)
  const text = query.toString()
  return `#/${view ?? "data"}/${encodeURIComponent(name ?? "")}${text ? "?" + text : ""}`
}

/** The views, each with a tab and a panel. */
export const views = ["Data", "Schema", "Observers", "History", "Migrations"]

/** The folder of migrations that was used last. */
export const folders = {
  get last() { return sessionStorage.getItem("moonpool-folder") ?? "" },
  set last(path) { sessionStorage.setItem("moonpool-folder", path) },
}

/** Returns the place of a fragment; null if it names none. */
export function placeOf(text) {
  const found = /^#\/([a-z]+)\/([^?]*)(?:\?(.*))?$/.exec(text)
  if (!found || ![...views, "panel"].some((name) => name.toLowerCase() === found[1])) return null
  const query = new URLSearchParams(found[3] ?? "")
  const linked = /^(.+):(\d+):(.+)$/.exec(query.get("linked") ?? "")
  const sort = (query.get("sort") ?? "").split(",").filter(Boolean).map((path) =>
    path[0] === "-" ? [path.slice(1), "descending"] : [path, "ascending"])
  try {
    if (found[1] === "panel") return { view: "panel", panel: decodeURIComponent(found[2]), class: null, where: "", sort: [] }
    return {
      view: found[1], class: decodeURIComponent(found[2]) || null, where: query.get("where") ?? "", sort,
      linked: linked ? { class: linked[1], ref: Number(linked[2]), property: linked[3] } : null,
      reveal: query.has("object") ? Number(query.get("object")) : null, at: Number(query.get("at")) || null,
    }
  } catch { return null }
}

/** Returns the place of the objects that link to an object. */
export function placeOfLinks(source, property, target) {
  const { class: name, ref, where } = target
  return where ? { class: source, where } : { class: source, linked: { class: name, ref, property } }
}

/** Returns the literal of a text or a number in a predicate. */
export const literalOf = (value) => typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value)

/** Returns the name of a property as predicates contain it. */
export const quoted = (name) => /^(not|true|false|nil|null|truepredicate|falsepredicate)$/i.test(name) ? `\`${name}\`` : name

/** Returns the predicate for links to an object with a primary key; null without one. */
export function predicateOfLinks(property, form, key, value) {
  if (!key || (typeof value !== "string" && typeof value !== "number")) return null
  return `${form === "link" ? "" : "any "}${quoted(property)}.${key} == ${literalOf(value)}`
}

// Values --------------------------------------------------------------------------------------------------------------

/** Whether a value has a form of its own: texts have inherited members that are called `link` and `big`. */
export const isRich = (value) => value !== null && typeof value === "object"

const named = ["int", "double", "float", "decimal", "date", "uuid", "object_id"]

/** Returns the text of a value. */
export function textOf(value, property) {
  if (value === null) return "nil"
  if (typeof value === "number") {
    return property?.base === "double" && Number.isInteger(value) ? value.toFixed(1) : String(value)
  }
  if (!isRich(value)) return String(value)
  if (value.link) return value.text
  if (value.backlinks) return countText(value.count)
  if (value.data !== undefined) return `${value.size} bytes`
  if (value.text !== undefined) return value.text + "…"
  for (const name of named) if (value[name] !== undefined) return value[name]
  const count = value.list ?? value.set ?? value.map
  const items = value.head.map((item) =>
    value.map !== undefined ? `${item[0]} = ${textOf(item[1], property)}` : textOf(item, property))
  const rest = count > items.length ? ", …" : ""
  return `${count} ${value.list !== undefined ? "in list" : value.set !== undefined ? "in set" : "in map"}${
    count ? ": " + items.join(", ") + rest : ""}`
}

/** Returns how a value is shown: right-aligned numbers, dimmed nil. */
export function styleOf(value) {
  if (value === null) return "nil"
  if (typeof value === "number") return "number"
  if (!isRich(value)) return ""
  if (value.int || value.double || value.float || value.decimal) return "number"
  return (value.list ?? value.set ?? value.map) !== undefined ? "collection" : ""
}

/** Opens a dialog with a name; it closes with Escape and removes itself. */
export function openDialog(name, ...children) {
  const dialog = make("dialog", { "aria-label": name }, make("h2", {}, name), ...children)
  const opener = document.activeElement
  dialog.addEventListener("close", () => {
    dialog.remove()
    if (document.activeElement !== opener) return
    // Chromium returns the focus to a text field without a cursor.
    opener.blur()
    opener.focus()
  })
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/** Shows an error in a place, until its content is replaced. */
export function showError(place, name, error) {
  const text = error.name === "AbortError" ? "The connection was lost." : error.message
  place.replaceChildren(make("p", { role: "alert", "aria-label": name, class: "dialog-error" }, text))
}
