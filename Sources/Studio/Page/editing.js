// Dialogs that write: objects to add, links to choose, and objects to delete.

import { make, countText, literalOf, openDialog, quoted, showError, textOf } from "/elements.js"

const buttons = (...children) => make("div", { class: "buttons" }, ...children)

/**
 * Asks for the values of a new object. `submit` receives the operation that creates it; after an error the dialog stays.
 */
export function addObject({ connection, classes, name, submit }) {
  const found = classes.get(name)
  const properties = found.properties.filter(({ form }) => form !== "backlinks")
  const isEmbedded = ({ base }) => classes.get(base)?.embedded
  const fields = properties.map((property) => {
    const field = make("input", {
      type: "text", "aria-label": property.name, spellcheck: "false", autocomplete: "off",
      placeholder: property.form === "map" || isEmbedded(property) && property.form === "link" ? "{}"
        : property.form === "list" || property.form === "set" ? "[]" : null,
      oninput: () => {
        field.isTouched = true
        field.link = null
      },
    })
    return field
  })
  const error = make("div")
  const rows = properties.map((property, index) => {
    const field = fields[index]
    const isLink = property.form === "link" && !isEmbedded(property)
    const choose = () => chooseObject({ connection, classes, name: property.base, choose: async (value, operations, text) => {
      const objects = operations.length ? (await connection.request("write", { operations })).objects : []
      field.link = value && (objects.length ? { link: property.base, ref: objects[0].ref } : value)
      field.isTouched = true
      field.value = value === null ? "" : text ?? `${property.base} #${field.link.ref}`
    } })
    return make("div", { class: "field" },
      make("span", { "aria-hidden": "true" }, property.name, " ", make("span", { class: "type" }, property.type)),
      make("div", { class: "with-button" }, field,
        isLink ? make("button", { type: "button", "aria-label": `Choose ${property.name}`, onclick: choose }, "Choose") : null))
  })
  const add = make("button", { class: "primary", type: "submit" }, "Add")
  const dialog = openDialog(`Add ${name}`, make("form", { onsubmit: async (event) => {
    event.preventDefault()
    const values = Object.create(null) // a property can be called `__proto__`
    properties.forEach((property, index) => {
      const field = fields[index]
      // A field without input leaves the property to its default.
      if (field.isTouched) values[property.name] = field.link ?? { typed: field.value }
    })
    add.disabled = true
    try {
      await submit({ do: "create", class: name, values })
      dialog.close()
    } catch (found) {
      showError(error, "Add error", found)
    }
    add.disabled = false
  } }, make("div", { class: "fields" }, ...rows), error,
  buttons(make("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), add)))
  fields[0]?.focus()
  return dialog
}

/**
 * Chooses an object of a class. `choose` receives a link or null, the operations that create the object, and its name;
 * after an error the dialog stays.
 */
export function chooseObject({ connection, classes, name, current, choose }) {
  const found = classes.get(name)
  const list = make("ul", { role: "listbox", id: "objects", "aria-label": name, onclick: (event) => take(event.target.closest("[role=option]")) })
  const count = make("p", { class: "dim" })
  const error = make("div")
  let running = null
  let timer = 0
  const attempt = async (...value) => {
    try {
      await choose(...value)
      dialog.close()
    } catch (found) {
      showError(error, "Edit error", found)
    }
  }
  const take = (option) => option && attempt({ link: name, ref: Number(option.dataset.ref) }, [], option.getAttribute("aria-label"))
  /** Objects whose key or texts contain the typed text. */
  const predicate = (text) => {
    if (!text) return ""
    const parts = found.properties.filter(({ form }) => form === "value").flatMap(({ name, base }) =>
      base === "string" ? [`${quoted(name)} contains[c] ${literalOf(text)}`]
        : base === "int" && name === found.key && /^-?\d{1,18}$/.test(text) ? [`${quoted(name)} == ${text}`] : [])
    return parts.join(" or ") || "falsepredicate"
  }
  const load = async () => {
    if (running) connection.end(running.id)
    const request = connection.request("rows", { class: name, where: predicate(search.value.trim()), first: 0, count: 50 }, () => {})
    running = request
    try {
      const { rows, total } = await request
      const shown = found.properties.map((property, index) => ({ property, index })).filter(({ property }) =>
        property.form === "value" && property.name !== found.key && property.base !== "data").slice(0, 2)
      list.replaceChildren(...rows.map((row, index) => {
        const isCurrent = current ? row.ref === current.ref : index === 0
        const details = shown.map(({ property, index }) => textOf(row.values[index], property)).join(" · ")
        return make("li", { role: "option", id: `object-${row.ref}`, "data-ref": row.ref, "aria-label": row.name, "aria-selected": String(isCurrent) },
          make("span", {}, row.name), make("span", { class: "dim", "aria-hidden": "true" }, details))
      }))
      count.textContent = total > rows.length ? `the first ${rows.length} of ${countText(total)}` : countText(total)
    } catch (found) {
      if (found.name !== "AbortError") showError(error, "Edit error", found)
    }
    connection.end(request.id)
    if (running === request) running = null
  }
  const key = (event) => {
    const options = [...list.children]
    const index = options.findIndex((option) => option.getAttribute("aria-selected") === "true")
    if (event.key === "Enter") {
      event.preventDefault()
      take(options[index] ?? options[0])
    } else if (options.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault()
      const next = options[(index + (event.key === "ArrowDown" ? 1 : options.length - (index < 0 ? 0 : 1))) % options.length]
      for (const option of options) option.setAttribute("aria-selected", String(option === next))
      search.setAttribute("aria-activedescendant", next.id)
      next.scrollIntoView({ block: "nearest" })
    }
  }
  const search = make("input", {
    type: "text", "aria-label": "Search", "aria-controls": "objects", placeholder: "Search", spellcheck: "false", autocomplete: "off", onkeydown: key,
    oninput: () => {
      clearTimeout(timer)
      timer = setTimeout(load, 150)
    },
  })
  const add = () => addObject({ connection, classes, name, submit: async (operation) => {
    await choose({ link: name, created: 0 }, [operation])
    dialog.close()
  } })
  const dialog = openDialog(`Choose ${name}`, search, list, count, error,
    buttons(make("button", { onclick: () => dialog.close() }, "Cancel"), make("button", { onclick: add }, "New"),
      make("button", { onclick: () => attempt(null, []) }, "None")))
  search.focus()
  load()
  return dialog
}

/** Asks whether to delete objects, and shows what links to them. */
export async function deleteObjects({ connection, name, refs }) {
  const { links } = await connection.request("backlinks", { class: name, refs })
  const found = links.filter(({ count }) => count)
  const total = found.reduce((sum, { count }) => sum + count, 0)
  const them = refs.length === 1 ? "it" : "them"
  const error = make("div")
  const dialog = openDialog(`Delete ${countText(refs.length)}`,
    make("p", {}, total ? `${total} ${total === 1 ? "link leads" : "links lead"} to ${them}, and will be removed:` : `No links lead to ${them}.`),
    ...(total ? [make("ul", {}, ...found.map(({ class: source, property, count }) => make("li", {}, `${source}.${property}, ${countText(count)}`)))] : []),
    error,
    buttons(make("button", { onclick: () => dialog.close() }, "Cancel"), make("button", { class: "danger", onclick: async () => {
      try {
        await connection.request("write", { operations: refs.map((ref) => ({ do: "delete", class: name, ref })) })
        dialog.close()
      } catch (failure) {
        showError(error, "Delete error", failure)
      }
    } }, "Delete")))
  return dialog
}
