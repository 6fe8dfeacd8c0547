// The schema: a diagram that follows the store, its text, and what a changed text means for the data.

import { make, openDialog, showError, folders } from "/elements.js"
import { codeField } from "/lua.js"

const [rowHeight, charWidth, padding, gapX, gapY] = [20, 7.3, 12, 72, 24]
const [mostDrawn, mostLines] = [60, 500] // classes, and their properties

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

const isLink = ({ form, base }, classes) => form !== "backlinks" && classes.some(({ name }) => name === base)

/** Returns the columns of the classes: each class is to the right of those that link to it, as far as links form no circle. */
function columnsOf(classes) {
  const ranks = new Map()
  const visit = (found, rank, path) => {
    if (path.has(found.name) || (ranks.get(found.name) ?? -1) >= rank) return
    ranks.set(found.name, rank)
    for (const property of found.properties) {
      const target = isLink(property, classes) && classes.find(({ name }) => name === property.base)
      if (target) visit(target, rank + 1, new Set([...path, found.name]))
    }
  }
  const linked = new Set(classes.flatMap((found) => found.properties.filter((property) => isLink(property, classes) && property.base !== found.name).map(({ base }) => base)))
  for (const found of [...classes].sort((a, b) => linked.has(a.name) - linked.has(b.name))) if (!ranks.has(found.name)) visit(found, 0, new Set())
  const columns = []
  for (const found of classes) (columns[Math.min(ranks.get(found.name), 5)] ??= []).push(found)
  return columns.filter(Boolean)
}

/** Returns the classes that fit: the current one, those that links lead to in both directions, and others. */
function drawn(classes, current) {
  const lines = (found) => found.reduce((sum, { properties }) => sum + properties.length, 0)
  if (classes.length <= mostDrawn && lines(classes) <= mostLines) return classes
  const byName = new Map(classes.map((found) => [found.name, found]))
  const near = new Map(classes.map(({ name }) => [name, new Set()]))
  for (const found of classes) {
    for (const { form, base } of found.properties) {
      if (form === "backlinks" || !byName.has(base)) continue
      near.get(found.name).add(base)
      near.get(base).add(found.name)
    }
  }
  const chosen = new Set(byName.has(current) ? [current] : [])
  for (const name of chosen) for (const other of near.get(name)) if (chosen.size < mostDrawn) chosen.add(other)
  for (const { name } of classes) if (chosen.size < mostDrawn) chosen.add(name)
  const found = [...chosen].map((name) => byName.get(name))
  while (found.length > 1 && lines(found) > mostLines) found.pop()
  return classes.filter((one) => found.includes(one))
}

/** Returns the diagram of classes: a box for each class, and a curve from each property that links to its class. */
function diagramOf(classes) {
  const boxes = new Map()
  let [x, height] = [0, 0]
  for (const column of columnsOf(classes)) {
    const widths = column.map(({ name, count, properties }) => Math.max(name.length + String(count).length + 3,
      ...properties.map((property) => property.name.length + property.type.length + 3)) * charWidth + 2 * padding)
    const width = Math.ceil(Math.min(320, Math.max(136, ...widths)))
    let y = 0
    for (const found of column) {
      boxes.set(found.name, { x, y, width, found })
      y += (found.properties.length + 1) * rowHeight + padding + gapY
    }
    height = Math.max(height, y - gapY)
    x += width + gapX
  }
  const text = (content, attributes) => draw("text", attributes, content)
  const nodes = [...boxes.values()].map(({ x, y, width, found }) => draw("g", { transform: `translate(${x} ${y})` },
    draw("rect", { class: "box", width, height: (found.properties.length + 1) * rowHeight + padding, rx: 8 }),
    text(found.name, { class: "name", x: padding, y: 20 }),
    text(found.embedded ? "embedded" : String(found.count), { class: "count", x: width - padding, y: 20, "text-anchor": "end" }),
    draw("line", { x1: 0, x2: width, y1: 28, y2: 28 }),
    ...found.properties.flatMap((property, index) => {
      const line = 28 + index * rowHeight + 16
      const room = Math.floor((width - 2 * padding) / charWidth) - property.name.length - 2
      const type = property.type.length > room ? property.type.slice(0, Math.max(1, room - 1)) + "…" : property.type
      return [text(property.name, { class: "property", x: padding, y: line }),
        text(type, { class: isLink(property, classes) ? "type link" : "type", x: width - padding, y: line, "text-anchor": "end" })]
    })))
  const curves = [...boxes.values()].flatMap((box) => box.found.properties.map((property, index) => {
    const target = isLink(property, classes) && boxes.get(property.base)
    if (!target) return null
    const [x1, y1, y2] = [box.x + box.width, box.y + 28 + index * rowHeight + 12, target.y + 16]
    const isForward = target.x > box.x
    const x2 = isForward ? target.x : target.x + target.width
    const bend = isForward ? (x2 - x1) / 2 : Math.max(40, gapX / 2)
    return draw("path", { class: "curve", d: `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${isForward ? x2 - bend : x2 + bend} ${y2}, ${x2} ${y2}`, "marker-end": "url(#arrow)" })
  }).filter(Boolean))
  const width = Math.max(x - gapX, 0) + 48
  const arrow = draw("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, draw("path", { class: "arrow", d: "M 0 0 L 8 4 L 0 8 z" }))
  const links = classes.flatMap((found) => found.properties.filter((property) => isLink(property, classes)).map((property) => `${found.name}.${property.name} → ${property.base}`))
  const description = classes.length ? [`Classes: ${classes.map(({ name }) => name).join(", ")}.`, ...links].join("\n") : "no classes"
  const picture = draw("svg", { role: "img", "aria-label": "Schema diagram", "aria-description": description, class: "diagram", width: width + 16, height: height + 16,
    viewBox: `-8 -8 ${width + 16} ${height + 16}` }, draw("defs", {}, arrow), ...curves, ...nodes)
  picture.style.minWidth = `${width * .7}px` // below that, it scrolls
  return picture
}

class StudioSchema extends HTMLElement {
  #shown = "" // the text of the store's schema
  #classes = null
  #losses = null // those of the planned text

  connectedCallback() {
    if (this.firstChild) return
    this.drawing = make("div", { class: "drawing" })
    this.field = make("textarea", {
      "aria-label": "Schema", class: "code", spellcheck: "false", autocomplete: "off", autocapitalize: "off", rows: "16",
      oninput: () => this.#forget(), onkeydown: (event) => {
        if (event.key === "Escape") this.plan.focus()
        if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || event.altKey || this.field.selectionStart === 0) return
        event.preventDefault()
        this.field.setRangeText("  ", this.field.selectionStart, this.field.selectionEnd, "end")
        this.field.repaint()
        this.#forget()
      },
    })
    this.plan = make("button", { onclick: () => this.#plan() }, "Plan")
    this.apply = make("button", { class: "primary", onclick: () => this.#apply() }, "Apply")
    this.save = make("button", { onclick: () => this.#save() }, "Save migration")
    this.reset = make("button", { hidden: true, onclick: () => this.#reset() }, "Discard changes")
    this.error = make("div")
    this.boxes = make("div", { class: "choices" })
    this.migration = make("textarea", { "aria-label": "Migration", class: "code", readonly: true, rows: "12", spellcheck: "false" })
    this.append(this.drawing, make("div", { class: "schema-text" }, codeField(this.field),
      make("div", { class: "bar" }, this.plan, this.apply, this.save, this.reset), this.error, this.boxes, this.planned = codeField(this.migration)))
    this.planned.hidden = true
  }

  set canWrite(canWrite) { this.apply.hidden = this.save.hidden = !canWrite }

  /** Shows the schema of the store; a changed text stays. */
  async show(connection, classes, current) {
    this.connection = connection
    const shown = drawn(classes, current)
    const described = JSON.stringify([classes.length, shown])
    if (this.#classes === described) return
    this.#classes = described
    this.drawing.replaceChildren(classes.length ? diagramOf(shown) : make("p", { class: "empty" },
      "No classes yet. Type one, such as return { Dog = { name = \"string\", age = \"int?\" } }, and apply it."), ...(classes.length ? [] : [diagramOf([])]),
      ...(shown.length < classes.length ? [make("p", { class: "dim" }, `${shown.length} of ${classes.length} classes, those near ${current}`)] : []))
    try {
      const { text } = await connection.request("schema_text")
      const isChanged = this.field.value !== this.#shown
      this.#shown = text
      if (!isChanged) this.field.value = text
      this.reset.hidden = this.field.value === text
    } catch { /* The connection was lost. */ }
  }

  #forget() {
    this.#losses = null
    this.apply.disabled = false
    this.error.replaceChildren()
    this.boxes.replaceChildren()
    this.planned.hidden = true
    this.reset.hidden = this.field.value === this.#shown
  }

  #reset() {
    this.field.value = this.#shown
    this.#forget()
  }

  async #plan() {
    this.#forget()
    const text = this.field.value
    try {
      const { script, losses, problems } = await this.connection.request("plan", { text })
      if (this.field.value !== text) return false
      this.#losses = losses
      this.migration.value = script ?? ""
      this.planned.hidden = false
      this.migration.rows = Math.min(24, Math.max(6, this.migration.value.split("\n").length))
      this.boxes.replaceChildren(...losses.map(({ name, count, what }) =>
        make("label", {}, make("input", { type: "checkbox", "data-name": name, onchange: () => this.#check() }), `Lose ${count} ${count === 1 ? what.slice(0, -1) : what} of ${name}`)))
      this.#check()
      if (problems.length) showError(this.error, "Schema error", { message: problems.join("\n") })
      return !problems.length && !losses.length
    } catch (error) {
      showError(this.error, "Schema error", error)
      return false
    }
  }

  #check() { this.apply.disabled = [...this.boxes.querySelectorAll("input")].some((box) => !box.checked) }

  async #apply() {
    // A loss is first shown, and then accepted.
    if (!this.#losses && !await this.#plan()) return
    const losses = [...this.boxes.querySelectorAll("input:checked")].map((box) => box.dataset.name)
    try {
      await this.connection.request("define", { text: this.field.value, losses })
      this.#shown = this.field.value
      this.#classes = null
      this.#forget()
    } catch (error) {
      showError(this.error, "Schema error", error)
    }
  }

  #save() {
    const folder = make("input", { type: "text", "aria-label": "Folder", value: folders.last, spellcheck: "false" })
    const error = make("div")
    const dialog = openDialog("Save migration", make("form", { onsubmit: async (event) => {
      event.preventDefault()
      try {
        folders.last = folder.value
        const { name } = await this.connection.request("plan", { text: this.field.value, dir: folder.value, save: true })
        if (!name) throw new Error("The folder already leads to this schema.")
        dialog.close()
        this.error.replaceChildren(make("p", { role: "status", "aria-label": "Saved" }, `${folder.value}/${name} written`))
      } catch (failure) {
        showError(error, "Save error", failure)
      }
    } }, make("label", { class: "field" }, make("span", { "aria-hidden": "true" }, "Folder"), folder), error,
    make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), make("button", { class: "primary", type: "submit" }, "Save"))))
  }
}

customElements.define("studio-schema", StudioSchema)
