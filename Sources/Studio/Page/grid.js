// The grid: a window of at most 200 rows over any number of objects, which follows the change sets of its results.

import { make, isRich, textOf, styleOf, fragment, placeOfLinks, predicateOfLinks } from "/elements.js"

const rowHeight = 32
const tallest = 8_000_000
const margin = 30
const flashTime = 3000

const numbers = new Set(["int", "float", "double", "decimal"])
const widths = { bool: 80, int: 104, float: 96, double: 104, decimal: 120, date: 208, uuid: 304, object_id: 216, data: 104 }

/** Returns the index of a row after a change set; null if it was deleted. */
export function movedIndex(index, deletions, insertions) {
  let result = index
  for (const [first, count] of deletions) {
    if (first > index) break
    if (index < first + count) return null
    result -= count
  }
  for (const [first, count] of insertions) {
    if (first > result) break
    result += count
  }
  return result
}

class StudioGrid extends HTMLElement {
  #rows = new Map() // rows by index
  #elements = new Map() // row elements by ref
  #flashes = new Map() // old texts of changed cells, by ref and column
  #columns = []
  #hidden = new Set()
  #total = 0
  #top = 0 // the first visible row, with a fraction
  #active = { row: 0, column: 0 } // the row of the header is -1
  #selected = null // the ref of the active row
  #chosen = new Set() // the refs of all selected rows
  #anchor = 0 // the row at which a selection of several rows began
  #editor = null // the field that replaces a cell's text
  #canWrite = false
  #pending = null // the index of a row that is selected as soon as it is loaded
  #isLost = false // the server must find the selected objects: their indexes are unknown, or some were deleted
  #held = [] // the keys that wait for this index
  #wanted = false
  #isLoading = false
  #isScrolling = false

  connectedCallback() {
    if (this.firstChild) return
    this.header = make("div", { role: "row", "aria-rowindex": 1, class: "header" })
    this.body = make("div", { role: "rowgroup", class: "body" })
    this.spacer = make("div", { role: "presentation", class: "spacer" }, this.body)
    this.head = make("div", { role: "rowgroup", class: "head" }, this.header)
    this.tabIndex = 0
    this.setAttribute("role", "grid")
    this.setAttribute("aria-multiselectable", "true")
    this.append(this.head, this.spacer)
    this.addEventListener("scroll", () => this.#didScroll())
    this.addEventListener("wheel", (event) => this.#wheel(event), { passive: false })
    this.addEventListener("keydown", (event) => this.#key(event))
    this.addEventListener("click", (event) => this.#click(event))
    this.addEventListener("dblclick", (event) => !event.target.closest(".editor, a, .head") && this.#edit())
    new ResizeObserver(() => this.#render()).observe(this)
  }

  /**
   * Shows new results; `load(first, count, ref)` requests a window and the index of an object, `list(first, count)` the
   * rows of a part without changing the window, and `classes` describes the schema. An open field stays with its object.
   */
  show({ place, columns, total, rows, first, index, classes, load, list, canWrite }) {
    const isSame = this.place?.class === place.class
    const isSameVersion = isSame && this.place.at === place.at
    const old = isSame && !isSameVersion ? this.#rows : new Map()
    this.place = place
    this.classes = classes
    this.load = load
    this.list = list
    this.#canWrite = canWrite
    const edited = isSame && canWrite && columns.find(({ name, type }) => name === this.#editor?.column.name && type === this.#editor.column.type)
    if (edited) this.#editor.column = edited
    else this.#editor = null
    this.#elements.clear()
    this.#isLost = false
    this.#held = []
    this.setAttribute("aria-readonly", canWrite ? "false" : "true")
    this.#columns = columns
    this.#total = total
    this.#rows = new Map()
    this.#store(first, rows)
    this.#flashes.clear()
    // Another version marks its differences from the one before.
    const known = new Map([...old.values()].map((row) => [row.ref, row]))
    for (const row of rows) if (known.has(row.ref)) this.#markChanges(row, known.get(row.ref))
    if (!isSame) {
      this.#hidden = new Set()
      this.#active = { row: 0, column: 0 }
      this.body.replaceChildren()
    }
    this.setAttribute("aria-label", place.class)
    this.#renderHeader()
    this.#resize()
    if (index !== undefined && index >= 0) {
      this.#active.row = index
      this.#scrollTo(Math.max(0, index - 2))
      this.#select(index, place.reveal)
    } else if (!isSame || !total) {
      this.#scrollTo(0)
      this.#select(0, null)
    } else {
      // Another version can lack the object, which the slider can return to.
      if (this.#selected !== null && this.#active.row >= 0 && this.#rows.get(this.#active.row)?.ref !== this.#selected) this.#findSelected(isSameVersion)
      this.#scrollTo(Math.min(this.#top, Math.max(0, total - 1)))
    }
  }

  get columns() { return this.#columns }
  isShown(name) { return !this.#hidden.has(name) }

  setShown(name, isShown) {
    if (isShown) this.#hidden.delete(name)
    else this.#hidden.add(name)
    this.#renderHeader()
    this.#elements.clear()
    this.#render()
  }

  /** Restores the scroll position after the element was moved. */
  wasMoved() { this.#scrollTo(this.#top) }

  goTo(index) {
    this.#active.row = Math.max(0, Math.min(index, this.#total - 1))
    this.#scrollTo(Math.max(0, this.#active.row - 2))
    this.#select(this.#active.row, null)
    this.focus()
  }

  /** Applies an event of the subscription. */
  apply(event) {
    if (event.reset) {
      this.#total = event.total
      this.#resize()
      this.#rows.clear()
      this.#isLost = this.#selected !== null && this.#active.row >= 0
      this.#request()
      return
    }
    const { deletions, insertions } = event
    const before = this.#rows
    this.#rows = new Map()
    for (const [index, row] of before) {
      const moved = movedIndex(index, deletions, insertions)
      if (moved !== null) this.#rows.set(moved, row)
    }
    const shift = (index) => {
      // A deleted row is replaced by the next one that remains.
      for (let i = index; i <= index + this.#total; i++) {
        const moved = movedIndex(i, deletions, insertions)
        if (moved !== null) return moved
      }
      return 0
    }
    this.#total = event.total
    for (const [key, row] of Object.entries(event.rows ?? {})) {
      const old = this.#rows.get(Number(key))
      if (old?.ref === row.ref) this.#markChanges(row, old)
      else this.#elements.delete(row.ref)
      this.#rows.set(Number(key), row)
    }
    if (deletions.length || insertions.length) {
      const top = Math.floor(this.#top)
      const wasRemoved = this.#active.row >= 0 && movedIndex(this.#active.row, deletions, insertions) === null
      this.#top = Math.max(0, shift(top) + this.#top - top)
      if (this.#active.row >= 0) this.#active.row = Math.max(0, Math.min(shift(this.#active.row), this.#total - 1))
      this.#anchor = Math.max(0, Math.min(shift(this.#anchor), this.#total - 1))
      this.#resize()
      if (wasRemoved && this.#selected !== null) this.#findSelected()
      this.#findChosen()
      this.#leaveRemoved(before)
      this.#scrollTo(this.#top)
    } else {
      this.#render()
    }
  }

  /** Ends the field of a row that has left the rows. The next keys must not edit another object, so the focus leaves too. */
  #leaveRemoved(before) {
    const isHere = (rows) => [...rows.values()].some(({ ref }) => ref === this.#editor?.ref)
    if (!isHere(before) || isHere(this.#rows)) return
    const { property } = this.#editor.place
    this.#editor = null
    document.activeElement.blur()
    this.dispatchEvent(new CustomEvent("report", { detail: `${property}: the row has left this list, and its field was closed` }))
  }

  /** Makes the row of the selected object the active one, wherever the order has moved it. */
  #findSelected(canRequest = true) {
    const found = [...this.#rows].find(([, row]) => row.ref === this.#selected)
    if (found) return this.#active.row = this.#anchor = found[0]
    this.#isLost = canRequest
    if (canRequest) this.#request()
  }

  /** Several selected objects can have left the rows; one that is not loaded can also be elsewhere. */
  #findChosen() {
    const loaded = new Set([...this.#rows.values()].map(({ ref }) => ref))
    if (this.#chosen.size < 2 || this.chosen.every((ref) => loaded.has(ref))) return
    this.#isLost = true
    this.#request()
  }

  /**
   * Notes the index of the selected object, and which objects of the selection are in the rows. If the selected object is
   * not, the one in its place is selected. A selection that the user has changed meanwhile remains.
   */
  #foundSelected({ index, chosen }, isCurrent) {
    this.#isLost = false
    if (isCurrent && index >= 0) {
      if (index !== this.#active.row) this.#active.row = this.#anchor = index
      if (chosen.length < this.#chosen.size) this.#choose(chosen)
    } else if (isCurrent) this.#select(Math.max(0, Math.min(this.#active.row, this.#total - 1)), null)
    for (const event of this.#held.splice(0)) this.#key(event)
  }

  #markChanges(row, old) {
    const until = performance.now() + flashTime
    row.values.forEach((value, column) => {
      if (JSON.stringify(value) === JSON.stringify(old.values[column])) return
      if (!this.#flashes.size) setTimeout(() => this.#endFlashes(), flashTime + 20)
      this.#flashes.set(`${row.ref} ${column}`, { text: textOf(old.values[column], this.#columns[column]), until })
      this.#elements.delete(row.ref)
    })
  }

  #endFlashes() {
    const now = performance.now()
    for (const [key, flash] of this.#flashes) {
      if (flash.until > now) continue
      this.#flashes.delete(key)
      this.#elements.delete(Number(key.split(" ")[0]))
    }
    if (this.#flashes.size) setTimeout(() => this.#endFlashes(), flashTime)
    this.#render()
  }

  // Scrolling ---------------------------------------------------------------------------------------------------------

  get #visible() { return Math.max(1, Math.ceil((this.clientHeight - rowHeight) / rowHeight)) }
  get #lastTop() { return Math.max(0, this.#total - (this.clientHeight - rowHeight) / rowHeight) }
  get #height() { return Math.min(this.#total * rowHeight, tallest) }
  get #isScaled() { return this.#total * rowHeight > tallest }
  get #range() { return Math.max(1, this.#height + rowHeight - this.clientHeight) }

  #resize() {
    this.setAttribute("aria-rowcount", this.#total + 1)
    this.spacer.style.height = `${this.#height}px`
  }

  #scrollTo(top) {
    this.#top = Math.min(Math.max(top, 0), this.#lastTop)
    const pixels = this.#isScaled ? this.#top / this.#lastTop * this.#range : this.#top * rowHeight
    if (Math.abs(this.scrollTop - pixels) >= 1) {
      this.#isScrolling = true
      this.scrollTop = pixels
    }
    this.#render()
  }

  #didScroll() {
    if (this.#isScrolling) {
      this.#isScrolling = false
      return
    }
    this.#top = this.#isScaled ? this.scrollTop / this.#range * this.#lastTop : this.scrollTop / rowHeight
    this.#render()
  }

  #wheel(event) {
    if (!this.#isScaled || event.ctrlKey || event.shiftKey || !event.deltaY) return
    event.preventDefault()
    this.#scrollTo(this.#top + event.deltaY / rowHeight)
  }

  // Rows --------------------------------------------------------------------------------------------------------------

  #store(first, rows) { rows.forEach((row, offset) => this.#rows.set(first + offset, row)) }

  /** Requests the window around the visible rows; one request at a time, and the last position wins. */
  async #request() {
    this.#wanted = true
    if (this.#isLoading) return
    this.#isLoading = true
    while (this.#wanted) {
      this.#wanted = false
      const first = Math.max(0, Math.floor(this.#top) - margin)
      const load = this.load
      try {
        const lost = this.#isLost ? this.#selected : null
        const chosen = this.#chosen
        const window = await load(first, Math.min(this.#visible + 2 * margin, 200), lost, lost === null ? undefined : [...chosen])
        if (load !== this.load) continue
        if (window.stale) continue
        this.#rows.clear()
        this.#store(window.first, window.rows)
        this.#total = window.total
        this.#resize()
        if (lost !== null) this.#foundSelected(window, chosen === this.#chosen)
        if (this.#pending !== null && this.#rows.has(this.#pending)) this.#select(this.#pending, null)
        else this.#render()
      } catch {
        this.#isLost = false
        break
      }
    }
    this.#isLoading = false
  }

  #render() {
    if (!this.load) return
    this.#markHead()
    const isEditing = this.#editor !== null && this.contains(document.activeElement) && document.activeElement !== this
    const first = Math.floor(this.#top)
    const last = Math.min(first + this.#visible + 1, this.#total)
    const elements = []
    const used = new Map()
    let isMissing = false
    for (let index = first; index < last; index++) {
      const row = this.#rows.get(index)
      if (!row) isMissing = true
      const element = row ? this.#elements.get(row.ref) ?? this.#renderRow(row) : make("div", { role: "row", class: "row missing" })
      if (row) used.set(row.ref, element)
      element.setAttribute("aria-rowindex", index + 2)
      element.dataset.index = index
      element.setAttribute("aria-selected", row && this.#chosen.has(row.ref) ? "true" : "false")
      element.classList.toggle("editing", this.#editor !== null && row?.ref === this.#editor.ref)
      element.classList.toggle("odd", index % 2 === 1)
      element.style.transform = `translateY(${(index - first) * rowHeight}px)`
      for (const cell of element.children) cell.classList.remove("active")
      if (index === this.#active.row && row) {
        const cell = element.children[this.#active.column]
        cell?.classList.add("active")
        if (cell) this.setAttribute("aria-activedescendant", cell.id)
      }
      elements.push(element)
    }
    this.#elements = used
    const offset = this.#isScaled ? this.scrollTop - (this.#top - first) * rowHeight : first * rowHeight
    this.body.style.transform = `translateY(${offset}px)`
    const present = [...this.body.children]
    if (present.length !== elements.length || present.some((child, i) => child !== elements[i])) this.body.replaceChildren(...elements)
    if (isEditing && document.activeElement !== this.#editor.field) (this.#editor.field.isConnected ? this.#editor.field : this).focus()
    if (isMissing) this.#request()
  }

  get #shown() { return this.#columns.map((column, index) => ({ column, index })).filter(({ column }) => this.isShown(column.name)) }

  #renderHeader() {
    const sort = new Map((this.place.sort ?? []).map(([path, order]) => [path, order]))
    const shown = this.#shown
    const template = shown.map(({ column }) => `minmax(${column.form === "value" ? widths[column.base] ?? 160 : 176}px, 1fr)`).join(" ")
    this.style.setProperty("--columns", template)
    const width = shown.reduce((sum, { column }) => sum + (column.form === "value" ? widths[column.base] ?? 160 : 176), 0)
    this.style.setProperty("--width", `${width}px`)
    this.setAttribute("aria-colcount", this.#columns.length)
    this.header.replaceChildren(...shown.map(({ column, index }) => {
      const path = this.#sortPath(column)
      const order = path ? sort.get(path) ?? "none" : null
      return make("div", {
        role: "columnheader", id: `head-${index}`, "aria-colindex": index + 1, "aria-sort": order, "aria-label": column.name, title: `${column.name}: ${column.type}`,
        class: `${path ? "sortable" : ""} ${numbers.has(column.base) && column.form === "value" ? "number" : ""}`, "data-path": path,
      }, make("span", { class: "name" }, column.name), make("span", { class: "type", "aria-hidden": "true" },
        order === "ascending" ? "▲" : order === "descending" ? "▼" : ""))
    }))
  }

  /** Marks the header of the active column, if the header is the active row. */
  #markHead() {
    const { row, column } = this.#active
    ;[...this.header.children].forEach((head, index) => head.classList.toggle("active", row < 0 && index === column))
    if (row < 0 && this.header.children[column]) this.setAttribute("aria-activedescendant", this.header.children[column].id)
  }

  /** Links are sorted by the primary key of their class; collections have no order. */
  #sortPath(column) {
    if (column.form === "link") {
      const key = this.classes.get(column.base)?.key
      return key ? `${column.name}.${key}` : null
    }
    return column.form === "value" && column.base !== "data" ? column.name : null
  }

  #renderRow(row) {
    const cells = this.#shown.map(({ column, index }) => {
      const value = row.values[index]
      const flash = this.#flashes.get(`${row.ref} ${index}`)
      const text = textOf(value, column)
      const href = this.#target(row, value, column)
      const editor = this.#editor?.ref === row.ref && this.#editor.column === column ? this.#editor.element : null
      return make("div", {
        role: "gridcell", "aria-colindex": index + 1, id: `cell-${row.ref}-${index}`, "aria-readonly": this.#isEditable(column) ? null : "true",
        class: `${styleOf(value)}${flash ? " changed" : ""}`, "aria-description": flash ? `was ${flash.text}` : null, title: editor ? null : text,
      }, editor ?? (href ? make("a", { href, tabindex: "-1" }, text) : text))
    })
    return make("div", { role: "row", class: "row", "aria-label": row.name, "data-ref": row.ref }, ...cells)
  }

  #target(row, value, column) {
    if (!isRich(value)) return null
    const { view, at } = this.place
    if (value.link) return fragment({ view, at, class: value.link, reveal: value.ref })
    if (!value.backlinks) return null
    const own = this.classes.get(this.place.class)
    const source = this.classes.get(column.base)?.properties.find((property) => property.name === column.path)
    const key = this.#columns.findIndex((property) => property.name === own?.key)
    const where = predicateOfLinks(column.path, source?.form, own?.key, key >= 0 ? row.values[key] : null)
    return fragment({ view, at, ...placeOfLinks(column.base, column.path, { class: this.place.class, ref: row.ref, where }) })
  }

  // Selection ---------------------------------------------------------------------------------------------------------

  /** Selects one row. */
  #select(index, ref) {
    this.#selected = this.#rows.get(index)?.ref ?? ref
    this.#pending = this.#selected === null && index < this.#total ? index : null
    this.#anchor = index
    this.#choose(this.#selected === null ? [] : [this.#selected])
  }

  #choose(refs) {
    this.#chosen = new Set(refs)
    this.#render()
    this.dispatchEvent(new CustomEvent("select-object", { detail: { ref: this.#selected, count: this.#chosen.size } }))
  }

  /** Selects all rows from the anchor to the active row, at most 500. */
  async #extend() {
    const anchor = this.#anchor
    const first = Math.min(anchor, this.#active.row)
    const count = Math.min(Math.abs(anchor - this.#active.row) + 1, 500)
    const known = Array.from({ length: count }, (_, offset) => this.#rows.get(first + offset))
    const rows = known.every(Boolean) ? known : await this.list(first, count)
    if (anchor !== this.#anchor || first !== Math.min(anchor, this.#active.row)) return
    this.#selected = this.#rows.get(this.#active.row)?.ref ?? this.#selected
    this.#choose(rows.map(({ ref }) => ref))
  }

  /** The refs of the selected rows. */
  get chosen() { return [...this.#chosen] }

  async #click(event) {
    if (event.target.closest(".editor")) return
    const header = event.target.closest("[role=columnheader]")
    if (header?.dataset.path) return this.#sort(header.dataset.path, event.shiftKey)
    const row = event.target.closest(".row")
    if (!row) return
    const cell = event.target.closest("[role=gridcell]")
    const active = { row: Number(row.dataset.index), column: cell ? [...row.children].indexOf(cell) : 0 }
    if (this.#editor && !await this.#commit()) return
    this.#active = active
    if (event.shiftKey) return this.#extend()
    const ref = this.#rows.get(active.row)?.ref
    if (!event.ctrlKey || ref === undefined) return this.#select(active.row, null)
    const refs = this.#chosen.has(ref) ? this.chosen.filter((chosen) => chosen !== ref) : [...this.#chosen, ref]
    this.#anchor = active.row
    this.#selected = ref
    this.#choose(refs)
  }

  #sort(path, isSecond) {
    const present = this.place.sort ?? []
    const old = present.find(([name]) => name === path)?.[1]
    const order = old === "ascending" ? "descending" : old === "descending" ? null : "ascending"
    const others = isSecond ? present.filter(([name]) => name !== path) : []
    const sort = order ? [...others, [path, order]] : others
    this.dispatchEvent(new CustomEvent("sort", { detail: sort }))
  }

  #key(event) {
    const page = Math.max(1, this.#visible - 2)
    const { row, column } = this.#active
    const last = this.#total - 1
    const columns = this.#shown.length - 1
    const to = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
      PageDown: [row + page, column], PageUp: [row - page, column],
      Home: event.ctrlKey ? [0, 0] : [row, 0], End: event.ctrlKey ? [last, columns] : [row, columns],
    }[event.key]
    if (event.target !== this) return
    if (this.#isLost && (to || ["Enter", "F2", "Delete"].includes(event.key) || event.key.length === 1 && !event.ctrlKey)) {
      event.preventDefault()
      return this.#held.push(event)
    }
    if (row < 0 && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault()
      const { path } = this.header.children[column]?.dataset ?? {}
      return path && this.#sort(path, event.shiftKey)
    }
    if (event.key === "Enter" && event.ctrlKey) return this.querySelector(".active a")?.click()
    if (event.key === "Enter" || event.key === "F2") {
      event.preventDefault()
      return this.#edit()
    }
    if (event.key === "Delete" && event.ctrlKey) return this.#edit(null)
    if (event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey && !" ?/".includes(event.key)) {
      event.preventDefault()
      return this.#edit(event.key)
    }
    if (!to || event.altKey || event.metaKey) return
    event.preventDefault()
    const isHead = row < 0 ? !event.ctrlKey && !/Down/.test(event.key) : event.key === "ArrowUp" && row === 0 && !event.shiftKey
    this.#active = { row: isHead ? -1 : Math.max(0, Math.min(to[0], last)), column: Math.max(0, Math.min(to[1], columns)) }
    if (isHead) {
      this.#render()
      return this.header.children[this.#active.column]?.scrollIntoView({ block: "nearest", inline: "nearest" })
    }
    const first = Math.ceil(this.#top)
    if (this.#active.row < first) this.#scrollTo(this.#active.row)
    else if (this.#active.row >= first + page + 1) this.#scrollTo(this.#active.row - page)
    if (event.shiftKey) this.#extend()
    else this.#select(this.#active.row, null)
    this.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }

  // Editing -----------------------------------------------------------------------------------------------------------

  #isEditable({ form, type, base }) {
    if (!this.#canWrite || / primary/.test(type) || base === "data") return false
    return form === "value" || form !== "backlinks" && !this.classes.get(base)?.embedded
  }

  /** Replaces the text of the active cell by a field; a link is chosen in a dialog. `typed` replaces the text, null is nil. */
  async #edit(typed) {
    const row = this.#rows.get(this.#active.row)
    const { column, index } = this.#shown[this.#active.column] ?? {}
    if (!row || !column || this.#editor?.element.isConnected) return
    if (!this.#isEditable(column)) {
      if (typed === undefined) this.querySelector(".active a")?.click()
      return
    }
    let value = row.values[index]
    const isCollection = ["list", "set", "map"].includes(column.form)
    const place = { class: this.place.class, ref: row.ref, property: column.name }
    if (column.form === "link" && typed !== null) {
      return this.dispatchEvent(new CustomEvent("choose-link", { detail: { place, column, value } }))
    }
    if (isCollection) return this.dispatchEvent(new CustomEvent("edit-collection", { detail: { place, column } }))
    if (isRich(value) && value.size !== undefined) {
      try { value = (await this.request("value", place)).value } catch { return }
    }
    const text = value === null ? "" : textOf(value, column)
    const field = make(column.base === "string" || column.base === "mixed" ? "textarea" : "input", {
      "aria-label": `Edit ${column.name}`, rows: "1", spellcheck: "false", autocomplete: "off", onkeydown: (event) => this.#editKey(event),
    })
    const error = make("div", { class: "edit-error" })
    const element = make("div", { class: "editor" }, field, error)
    this.#editor = { ref: row.ref, column, place, was: value, text, field, error, element }
    this.#elements.delete(row.ref)
    this.#render()
    field.value = text
    // A mixed value can be a link, a collection or data. A field has no carriage returns, so a text would lose them.
    const problem = isRich(value) && (value.link || value.head || value.data !== undefined) ? "a value of this kind cannot be typed; change it with code"
      : field.value !== text ? "the text has characters that a field cannot show; change it with code" : null
    field.readOnly = problem !== null
    field.focus()
    if (typed === null) this.#commit(null)
    else if (problem) this.#showEditError(problem)
    else if (typed !== undefined) field.value = typed
    else field.select()
  }

  #showEditError(message) {
    const { field, error } = this.#editor
    field.setAttribute("aria-invalid", "true")
    error.replaceChildren(make("div", { role: "alert", "aria-label": "Edit error" }, message))
    error.classList.toggle("above", field.getBoundingClientRect().bottom + 96 > this.getBoundingClientRect().bottom)
  }

  #close() {
    const { ref, element } = this.#editor
    const hadFocus = element.contains(document.activeElement)
    this.#editor = null
    this.#elements.delete(ref)
    this.#render()
    if (hadFocus) this.focus()
  }

  /** Writes the field in one transaction; returns whether that succeeded. After an error the field stays. */
  async #commit(value) {
    const editor = this.#editor
    if (editor.isWriting) return false
    const { field, text, was, place } = editor
    if (value === undefined && (field.readOnly || field.value === text)) {
      this.#close()
      return true
    }
    editor.isWriting = true
    try {
      await this.request("write", { operations: [{ do: "set", ...place, value: value === null ? null : { typed: field.value }, was }] })
      if (this.#editor === editor) this.#close()
      return true
    } catch (error) {
      const now = error.current === undefined ? "" : `; it is now ${textOf(error.current, editor.column)}`
      const message = error.name === "AbortError" ? "the connection was lost" : error.message + now
      if (this.#editor !== editor) return false
      if (editor.element.isConnected) {
        this.#showEditError(message)
        return false
      }
      // The row has left the page, and must not keep others from being chosen.
      this.#close()
      this.dispatchEvent(new CustomEvent("report", { detail: `${editor.place.property}: ${message}` }))
      return true
    } finally {
      editor.isWriting = false
    }
  }

  async #editKey(event) {
    event.stopPropagation()
    if (event.isComposing) return
    if (event.key === "Escape") this.#close()
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault()
      this.#commit()
    } else if (event.key === "Delete" && event.ctrlKey) {
      event.preventDefault()
      this.#commit(null)
    } else if (event.key === "Tab") {
      event.preventDefault()
      const step = event.shiftKey ? -1 : 1
      if (!await this.#commit()) return
      this.#continue(step)
    }
  }

  /** Edits the next or the previous cell that can be edited. */
  #continue(step) {
    let { row, column } = this.#active
    const columns = this.#shown
    do {
      column += step
      if (column < 0 || column >= columns.length) {
        row += step
        column = step > 0 ? 0 : columns.length - 1
      }
      if (row < 0 || row >= this.#total) return
    } while (!this.#isEditable(columns[column].column) || !["value", "link"].includes(columns[column].column.form))
    const isSame = row === this.#active.row
    this.#active = { row, column }
    if (!isSame) this.#select(row, null)
    this.#render()
    this.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" })
    this.#edit()
  }
}

customElements.define("studio-grid", StudioGrid)
