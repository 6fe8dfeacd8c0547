// The editor of a list, a set or a map: a dialog that writes all elements in one transaction.

import { make, isRich, openDialog, showError, textOf } from "/elements.js"
import { chooseObject } from "/editing.js"

const help = {
  list: "Enter: next element · Alt-↑ Alt-↓: move · Ctrl-Delete: remove · Ctrl-Enter: save",
  set: "Enter: next element · Ctrl-Delete: remove · Ctrl-Enter: save",
  map: "Enter: next element · Ctrl-Delete: remove · Ctrl-Enter: save",
}

/** Edits the collection at a place; a value that changed meanwhile is an error, and the dialog stays. */
export async function editCollection({ connection, classes, place, column }) {
  const { form, base, name } = column
  const { value: was } = await connection.request("value", place)
  if (was[form] > was.head.length) throw new Error(`the ${form} has ${was[form]} elements; the editor shows at most ${was.head.length}`)
  const values = was.head.map((item) => form === "map" ? item[1] : item)
  const isLinked = classes.has(base)
  if (values.some((value) => isRich(value) && ((value.list ?? value.set ?? value.map) !== undefined || value.data !== undefined || !isLinked && value.link))) {
    throw new Error(`the ${form} has elements that the editor cannot show; change it with code`)
  }
  const created = [] // operations that create linked objects
  const list = make("ol", { role: "list", "aria-label": name, class: "elements" })
  const error = make("div")

  const add = (value, key, after = null) => {
    const text = value === undefined || value === null ? "" : textOf(value, column)
    const item = make("li", { onkeydown: (event) => press(item, event) })
    item.field = isLinked
      ? make("button", { type: "button", class: "chosen", onclick: () => choose(item) }, text || "nil")
      : make("textarea", { rows: "1", spellcheck: "false", autocomplete: "off" })
    item.key = form === "map" ? make("input", { type: "text", spellcheck: "false", autocomplete: "off" }) : null
    if (!isLinked) item.field.value = text
    if (item.key) item.key.value = key ?? ""
    // A field has no carriage returns, so it can differ from the text without being touched.
    Object.assign(item, { was: value, text: item.field.value })
    item.remover = make("button", { type: "button", class: "small", onclick: () => remove(item) }, "Remove")
    item.append(...[item.key, item.field, item.remover].filter(Boolean))
    if (after) after.after(item)
    else list.append(item)
    number()
    return item
  }
  /** The names of the fields are their positions. */
  const number = () => [...list.children].forEach((item, index) => {
    item.field.setAttribute("aria-label", isLinked ? `Element ${index + 1}: ${item.field.textContent}` : `Element ${index + 1}`)
    item.key?.setAttribute("aria-label", `Key ${index + 1}`)
    item.remover.setAttribute("aria-label", `Remove ${index + 1}`)
  })
  const focus = (item) => (item ? item.key ?? item.field : addition).focus()
  const remove = (item) => {
    const next = item.nextElementSibling ?? item.previousElementSibling
    item.remove()
    number()
    focus(next)
  }
  const choose = (item) => chooseObject({ connection, classes, name: base, current: item.was, choose: async (value, operations, text) => {
    if (!value) return remove(item)
    item.was = operations.length ? { link: base, created: created.push(...operations) - 1 } : value
    item.text = item.field.textContent = text ?? `new ${base}`
    number()
  } })
  const append = (after = null) => {
    const item = add(undefined, "", after)
    focus(item)
    if (isLinked && !item.key) choose(item)
  }
  const press = (item, event) => {
    if (event.isComposing) return
    const { key, ctrlKey, altKey, shiftKey } = event
    const [before, after] = [item.previousElementSibling, item.nextElementSibling]
    if (key === "Enter" && ctrlKey) save()
    else if (key === "Enter" && !shiftKey && event.target === item.key) item.field.focus()
    else if (key === "Enter" && !shiftKey && event.target === item.field && !isLinked) (after ? focus(after) : append(item))
    else if (key === "Delete" && ctrlKey) remove(item)
    else if (altKey && form === "list" && key === "ArrowUp") before?.before(item)
    else if (altKey && form === "list" && key === "ArrowDown") after?.after(item)
    else return
    event.preventDefault()
    if (altKey) {
      number()
      event.target.focus()
    }
  }
  const valueOf = (item) => {
    if (isLinked) return item.was ?? null
    if (item.was !== undefined && item.field.value === item.text) return item.was
    return { typed: item.field.value, kind: typeof item.was === "string" ? "string" : undefined }
  }
  const save = async () => {
    const items = [...list.children]
    const keys = items.map((item) => item.key?.value)
    try {
      const twice = form === "map" && keys.find((key, index) => keys.indexOf(key) !== index)
      if (twice !== undefined && twice !== false) throw new Error(`two elements have the key '${twice}'`)
      const value = form === "map" ? Object.fromEntries(items.map((item, index) => [keys[index], valueOf(item)])) : items.map(valueOf)
      await connection.request("write", { operations: [...created, { do: "set", ...place, value, was }] })
      dialog.close()
    } catch (failure) {
      const now = failure.current === undefined ? "" : `; it is now ${textOf(failure.current, column)}`
      showError(error, "Edit error", failure.current === undefined ? failure : new Error(failure.message + now))
    }
  }
  const addition = make("button", { type: "button", onclick: () => append() }, "Add element")
  const dialog = openDialog(`Edit ${name}`, make("p", { class: "dim" }, help[form]), list, error,
    make("div", { class: "buttons" }, addition, make("span", { class: "gap" }), make("button", { onclick: () => dialog.close() }, "Cancel"),
      make("button", { class: "primary", onclick: save }, "Save")))
  dialog.classList.add("wide")
  values.forEach((value, index) => add(value, form === "map" ? was.head[index][0] : null))
  focus(list.firstChild)
  return dialog
}
