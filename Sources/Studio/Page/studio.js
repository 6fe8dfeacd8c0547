// The studio's page: navigation, filter, grid and inspector, which follow the store.

import { connection } from "/connection.js"
import { make, isRich, countText, views, fragment, placeOf, placeOfLinks, predicateOfLinks, quoted, textOf, styleOf, openDialog } from "/elements.js"
import { addObject, chooseObject, deleteObjects } from "/editing.js"
import { editCollection } from "/collections.js"
import "/console.js"
import "/grid.js"
import "/history.js"
import { importFile } from "/import.js"
import "/migrations.js"
import "/observers.js"
import "/panels.js"
import "/schema.js"

const keys = [
  ["↑ ↓ ← →", "Move to a cell"], ["Home, End", "First, last column"], ["Page Up, Page Down", "Move by a page"],
  ["Ctrl-Home, Ctrl-End", "First, last row"], ["↑ in the first row", "Move to the headers"],
  ["Enter, Shift-Enter", "In a header: sort, add a second key"], ["Enter, F2", "Edit a cell; without write access, follow its link"],
  ["Ctrl-Enter", "Follow the link in a cell"], ["Tab", "Write, and edit the next cell"], ["Shift-Enter", "A new line in a text"],
  ["Ctrl-Delete", "Set nil"], ["Shift-↑, Shift-↓", "Select several objects"], ["Insert", "Add an object"], ["Delete", "Delete the selected objects"],
  ["Ctrl-Z, Ctrl-Shift-Z", "Undo, redo"], ["Ctrl-G", "Go to row"], ["Ctrl-C", "Copy the selected objects"],
  ["/", "Filter"], ["Ctrl-`", "Console"],
  ["Tab, F1", "In the console: complete, help"], ["Escape", "Close a dialog or the completions, leave a text"], ["Alt-←", "Back"], ["?", "This list"],
]

const groupSize = 100 // classes of the navigation

const operators = {
  __proto__: null, // a class can have the name of an inherited member
  string: ["==", "!=", "contains", "contains[c]", "beginswith", "endswith", "like", "in"],
  bool: ["== true", "== false"],
  other: ["==", "!=", "<", "<=", ">", ">=", "between", "in"],
}

// A path, an operator, and the value that is being typed.
const comparison = new RegExp([
  /(?<![\p{L}\p{N}_.@$\]])((?:[\p{L}_][\p{L}\p{N}_]*\.)*[\p{L}_][\p{L}\p{N}_]*)/u,
  /(?:\s*(?:<>|==|!=|=<|=>|<=|>=|=|<|>)(?:\[[cd]+\])?|\s+(?:beginswith|endswith|contains|like)(?:\[[cd]+\])?|\s+(?:in|between)(?:\[[cd]+\])?\s*\{(?:[^{}]*,)?)/u,
  /\s*('(?:[^'\\]|\\.)*|"(?:[^"\\]|\\.)*|[^\s'"(){}[\],]*)$/u,
].map((part) => part.source).join(""), "iu")

class StudioApp extends HTMLElement {
  #classes = new Map()
  #rows = null // the id of the grid's subscription
  #object = null // the id of the inspector's subscription
  #trail = []
  #place = null // the shown place
  #next = null // the place that will be shown next
  #typing = 0
  #asking = 0
  #values = null // the running request for values
  #selected = null // the selected object
  #isReadOnly = true
  #navigated = null // the classes in the navigation
  #isWelcome = false
  #filtered = {} // the class and the predicate that the field of the filter belongs to

  connectedCallback() {
    this.#build()
    this.#applyTheme(localStorage.getItem("moonpool-theme") ?? "system")
    if (!connection) return this.#showDisconnected("Open the address that 'moonpool studio' has printed.")
    this.connection = this.console.connection = connection
    connection.addEventListener("status", () => this.#showStatus())
    connection.addEventListener("welcome", (event) => this.#welcome(event.detail))
    connection.addEventListener("classes", (event) => this.#showClasses(event.detail))
    connection.addEventListener("panels", (event) => this.#showPanels(event.detail))
    addEventListener("hashchange", () => this.#open(placeOf(location.hash)))
    addEventListener("keydown", (event) => this.#key(event))
    addEventListener("dragover", (event) => event.preventDefault())
    addEventListener("drop", (event) => {
      event.preventDefault()
      if (event.dataTransfer.files[0]) this.#import(event.dataTransfer.files[0])
    })
    connection.begin()
  }

  #build() {
    this.heading = make("h1", {}, "Moonpool")
    this.status = make("span", { role: "status", "aria-label": "Connection", class: "badge" }, "disconnected")
    this.access = make("span", { role: "status", "aria-label": "Access", class: "badge" })
    this.theme = make("select", { "aria-label": "Theme", onchange: () => this.#applyTheme(this.theme.value) },
      ...["System", "Light", "Dark"].map((name) => make("option", { value: name.toLowerCase() }, name)))
    this.navigation = make("nav", { "aria-label": "Classes" })
    this.alert = make("div", { class: "disconnected" })
    this.filter = make("input", {
      type: "text", role: "combobox", "aria-label": "Filter", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": "completions",
      autocomplete: "off", spellcheck: "false", placeholder: "Filter: age > 3 and name beginswith 'R'",
      oninput: () => this.#typed(), onkeydown: (event) => this.#filterKey(event), onblur: () => this.#closeCompletions(),
    })
    this.completions = make("ul", { role: "listbox", id: "completions", "aria-label": "Completions", hidden: true })
    this.filterError = make("div", { class: "error-place" })
    this.rowsStatus = make("span", { role: "status", "aria-label": "Rows" })
    this.change = make("span", { role: "status", "aria-label": "Last change", class: "dim" })
    this.grid = make("studio-grid", {
      onsort: (event) => this.#go({ ...this.#place, sort: event.detail, reveal: null }),
      "onselect-object": (event) => {
        this.deletion.disabled = !event.detail.count || !this.#canWrite
        this.#inspect(this.#place.class, event.detail.ref)
      },
      "onchoose-link": (event) => this.#chooseLink(event.detail),
      "onedit-collection": (event) => this.#editCollection(event.detail), onreport: (event) => this.#say(event.detail, true),
    })
    this.grid.request = (action, fields) => this.connection.request(action, fields)
    this.addition = make("button", { disabled: true, onclick: () => this.#add() }, "Add object")
    this.deletion = make("button", { disabled: true, onclick: () => this.#delete() }, "Delete objects")
    this.undo = make("button", { title: "Undo (Ctrl-Z)", onclick: () => this.#reverse("undo") }, "Undo")
    this.redo = make("button", { title: "Redo (Ctrl-Shift-Z)", onclick: () => this.#reverse("redo") }, "Redo")
    this.importing = make("button", { onclick: () => this.#import() }, "Import")
    this.notice = make("span", { class: "notice" })
    this.grid.addEventListener("click", (event) => this.#followed(event))
    this.grid.addEventListener("keydown", (event) => {
      if (!event.ctrlKey || event.key.toLowerCase() !== "c" || !getSelection().isCollapsed || this.copy.disabled) return
      event.preventDefault()
      this.#chooseCopy(this.grid)
    })
    this.copy = make("button", { "aria-haspopup": "menu", "aria-expanded": "false", disabled: true, onclick: () => this.#chooseCopy(this.copy) }, "Copy as")
    this.copies = make("div", { class: "menu" }, this.copy)
    this.copied = make("span", { role: "status", "aria-label": "Copy", class: "dim" })
    this.inspector = make("aside", { "aria-label": "Object", class: "inspector" })
    this.inspector.addEventListener("click", (event) => this.#followed(event))
    this.history = make("studio-history", {
      "onshow-version": (event) => this.#go({ ...this.#next, at: event.detail, reveal: null }),
      "onrestore-version": () => this.#restore(),
    })
    this.version = make("div", { class: "shown-version" })
    this.back = make("button", { onclick: () => this.#goBack(), disabled: true }, "Back")
    this.observers = make("studio-observers", { onclick: (event) => this.#followed(event) })
    this.tabs = views.map((name) => make("button", {
      role: "tab", id: `tab-${name.toLowerCase()}`, "aria-controls": `panel-${name.toLowerCase()}`,
      onclick: () => this.connection && this.#go({ ...this.#next, view: name.toLowerCase(), reveal: null }), onkeydown: (event) => this.#tabKey(event),
    }, name))
    this.historyGrid = make("div", { class: "history-grid" })
    const panels = {
      Data: [
        make("div", { class: "bar" }, this.back, make("div", { class: "filter" }, this.filter, this.completions),
          this.addition, this.deletion,
          make("button", { onclick: () => this.#chooseColumns() }, "Columns"),
          make("button", { onclick: () => this.#goToRow() }, "Go to row"),
          this.copies,
          make("button", { onclick: () => this.#export() }, "Export")),
        this.filterError, this.hint = make("p", { class: "empty hint", hidden: true }, "No classes yet. Define one in Schema or in the console, or import a file."),
        this.grid],
      Schema: [this.schema = make("studio-schema")], Migrations: [this.migrations = make("studio-migrations")],
      Panel: [this.panel = make("studio-panel", { onclick: (event) => this.#followed(event) })], Observers: [this.observers], History: [this.history, this.historyGrid],
    }
    this.panels = Object.keys(panels).map((name) => make("section", { role: "tabpanel", id: `panel-${name.toLowerCase()}`, "aria-label": name }, ...panels[name]))
    this.append(
      make("header", {}, make("span", { class: "logo", "aria-hidden": "true" }), this.heading, this.status, this.access,
        make("div", { role: "toolbar", "aria-label": "Store" }, this.undo, this.redo, this.importing, make("label", { class: "theme" }, this.theme),
          make("button", { "aria-label": "Keys", title: "Keys (?)", onclick: () => this.#showKeys() }, "?"))),
      this.alert, this.navigation,
      make("main", {},
        this.tablist = make("div", { role: "tablist", "aria-label": "Views" }, ...this.tabs),
        this.version,
        ...this.panels,
        make("footer", {}, this.rowsStatus, this.copied, this.notice, this.change)),
      this.inspector, this.console = make("studio-console", { hidden: true }))
    this.#showObject(null)
    this.#showView({ view: "data" })
  }

  // The connection ----------------------------------------------------------------------------------------------------

  #showStatus() {
    const status = this.connection.status
    this.status.textContent = status
    this.status.dataset.state = status
    this.console.isBusy = status === "busy"
    // A page that opens while the script is busy can stop it.
    if (status === "busy" && !this.#isWelcome) this.console.hidden = false
    if (status !== "disconnected") return this.alert.replaceChildren()
    this.#showDisconnected(this.connection.needsAddress
      ? "The server was restarted. Open the address that 'moonpool studio' has printed."
      : this.connection.refusal ? `The server cannot show the store: ${this.connection.refusal}.`
        : "The connection to the server was lost. Reconnecting …  If 'moonpool studio' has ended, start it again and open the new address.")
  }

  #showDisconnected(text) {
    this.alert.replaceChildren(make("div", { role: "alert", "aria-label": "Disconnected" }, text))
  }

  #welcome(welcome) {
    this.heading.textContent = welcome.title
    document.title = `${welcome.title} – Moonpool Studio`
    this.access.textContent = welcome.read_only ? "read-only" : "read-write"
    this.#isReadOnly = welcome.read_only
    for (const element of [this.undo, this.redo, this.importing, this.addition, this.deletion]) element.hidden = welcome.read_only
    this.#isWelcome = true
    this.console.hidden = !welcome.console
    this.panel.canPress = welcome.console && !welcome.read_only
    this.history.canWrite = this.migrations.canWrite = !welcome.read_only
    this.history.stop()
    this.#rows = this.#object = null
    this.panel.stop()
    this.#showClasses(welcome)
    this.#showPanels(welcome)
    const asked = this.#place ? null : /^\s*([^\s]+)(?:\s+where\s+([^]*))?$/.exec(welcome.open_to ?? "")
    const first = welcome.classes.find(({ embedded }) => !embedded)?.name
    const place = placeOf(location.hash) ?? (asked && this.#classes.has(asked[1])
      ? { class: asked[1], where: asked[2] ?? "", sort: [] } : { view: asked?.[1], class: first, where: "", sort: [] })
    place.class ??= first ?? null
    if (location.hash !== fragment(place)) history.replaceState(null, "", fragment(place))
    this.#open(place)
  }

  /** Shows the classes of a schema, or new counts of the present classes. */
  #showClasses({ classes: all, counts }) {
    const classes = all ?? [...this.#classes.values()].map((known) =>
      Object.hasOwn(counts, known.name) ? { ...known, count: counts[known.name] } : known)
    const shown = this.#classes.get(this.#place?.class)
    const found = classes.find(({ name }) => name === shown?.name)
    if (shown && !found) {
      this.#say(`The class ${shown.name} was removed.`)
      setTimeout(() => this.#go({ view: this.#place.view, class: classes.find(({ embedded }) => !embedded)?.name ?? null, where: "", sort: [] }))
    }
    if (found && JSON.stringify(found.properties) !== JSON.stringify(shown.properties)) {
      setTimeout(() => this.#open({ ...this.#place, reveal: null }))
    }
    const first = classes.find(({ embedded }) => !embedded)?.name
    if (first && this.#next && !this.#next.class) setTimeout(() => this.#next.class || this.#go({ ...this.#next, class: first }))
    this.#classes = new Map(classes.map((found) => [found.name, {
      ...found, key: found.properties.find((property) => property.form === "value" && / primary/.test(property.type))?.name,
    }]))
    if (this.#place?.view === "schema") this.schema.show(this.connection, [...this.#classes.values()], this.#place?.class)
    this.hint.hidden = classes.length > 0
    this.grid.hidden = !classes.length
    const names = classes.map(({ name }) => name).join()
    if (names !== this.#navigated) this.#showNavigation(classes)
    this.#navigated = names
    this.#markLinks()
  }

  /** Shows a link to each class; many classes are in groups, of which one is open. */
  #showNavigation(classes) {
    const links = (found) => found.map(({ name }) => make("a", { "data-class": name }, make("span", {}, name), make("span", { class: "count" })))
    if (classes.length <= 2 * groupSize) return this.navigation.replaceChildren(...links(classes))
    const groups = Array.from({ length: Math.ceil(classes.length / groupSize) }, (_, index) => classes.slice(index * groupSize, (index + 1) * groupSize))
    this.navigation.replaceChildren(...groups.map((found) => {
      const group = make("details", { name: "classes", ontoggle: () => {
        group.replaceChildren(summary, ...(group.open ? links(found) : []))
        this.#markLinks()
      } })
      const summary = make("summary", {}, `${found[0].name} – ${found.at(-1).name}`)
      group.names = new Set(found.map(({ name }) => name))
      group.append(summary)
      return group
    }))
    this.#openGroup()
  }

  /** Opens the group of the current class. */
  #openGroup() {
    for (const group of this.navigation.querySelectorAll("details")) if (group.names.has(this.#place?.class)) group.open = true
  }

  /** Updates the links in the navigation. They stay, because one of them can have the focus. */
  #markLinks() {
    for (const link of this.navigation.querySelectorAll("a")) {
      const { name, count } = this.#classes.get(link.dataset.class)
      link.href = this.#link({ class: name })
      link.setAttribute("aria-label", `${name}, ${countText(count)}`)
      link.lastChild.textContent = String(count)
      if (name === this.#place?.class) link.setAttribute("aria-current", "page")
      else link.removeAttribute("aria-current")
    }
  }

  #applyTheme(name) {
    this.theme.value = name
    localStorage.setItem("moonpool-theme", name)
    document.documentElement.dataset.theme = name
  }

  // Places ------------------------------------------------------------------------------------------------------------

  #go(place) {
    this.#next = place
    const text = fragment(place)
    if (location.hash === text) this.#open(place)
    else location.hash = text
  }

  #followed(event) {
    const link = event.target.closest("a")
    if (!link) return
    // Back returns to the object.
    const reveal = link.closest("[data-ref]")?.dataset.ref ?? this.#selected?.ref
    if (["data", "history"].includes(this.#place?.view ?? "data")) history.replaceState(null, "", fragment({ ...this.#place, reveal }))
    this.#trail.push(location.hash)
    this.back.disabled = false
  }

  #goBack() {
    const hash = this.#trail.pop()
    this.back.disabled = !this.#trail.length
    if (hash) location.hash = hash
  }

  /** Shows a place; the present rows stay until the new ones are there, and after an error. */
  async #open(place) {
    if (!place || !this.connection) return
    clearTimeout(this.#typing)
    if (this.opening) this.connection.end(this.opening)
    // A fragment without a class, such as that of a panel, keeps the class, or takes the first one.
    place.class ??= this.#place?.class ?? [...this.#classes.values()].find(({ embedded }) => !embedded)?.name ?? null
    const { view = "data", class: name, where, sort, linked, reveal, at } = place
    this.#next = place
    if (!name || !["data", "history"].includes(view)) {
      this.#place = place
      return this.#showView(place)
    }
    let request = null
    request = this.connection.request("rows", { class: name, where, sort, linked: linked ?? undefined, reveal: reveal ?? undefined, at: at ?? undefined,
      first: 0, count: 100 }, (event) => this.#changed(request.id, event))
    this.opening = request.id
    // A text that is being typed stays, unless another place is shown.
    const isTyped = document.activeElement === this.filter && name === this.#filtered.name && where === this.#filtered.where
    this.#filtered = { name, where }
    if (!isTyped && this.filter.value.trim() !== (where ?? "")) this.filter.value = where ?? ""
    try {
      const answer = await request
      this.opening = null
      const old = this.#rows
      this.#rows = request.id
      this.#place = place
      this.deletion.disabled = !this.#selected || !this.#canWrite
      if (old) this.connection.end(old)
      this.#showError(null)
      if (this.notice.querySelector("[role=alert]")) this.notice.replaceChildren()
      this.filter.placeholder = linked ? `${linked.property} links to ${linked.class} #${linked.ref}` : "Filter: age > 3 and name beginswith 'R'"
      this.#showView(place)
      this.#openGroup()
      this.#markLinks()
      this.change.textContent = ""
      this.#showCount(answer.total, answer.all)
      const load = (first, count, reveal, chosen) => this.connection.request("window", { on: request.id, first, count, reveal: reveal ?? undefined, chosen })
      const list = (first, count) => this.#list(place, first, count)
      this.addition.disabled = !this.#canWrite || this.#classes.get(name)?.embedded
      this.grid.show({ ...answer, place, classes: this.#classes, load, list, canWrite: this.#canWrite })
      if (this.#selected?.class === name) this.#inspect(name, this.#selected.ref)
      // A link was followed whose view is now hidden.
      const focused = document.activeElement
      if (reveal !== null && reveal !== undefined && (focused === document.body || !focused.checkVisibility())) this.grid.focus()
    } catch (error) {
      if (this.opening === request.id) this.opening = null
      if (error.name === "AbortError") return
      // A page that begins at a place that cannot be shown, such as an invalid filter, shows all objects of the class.
      if (!this.#place && this.#classes.has(name) && (where || sort?.length || linked || at)) {
        const all = { view, class: name, where: "", sort: [] }
        await this.#open(all)
        if (this.#place !== all) return
        this.filter.value = where ?? ""
      }
      this.#next = this.#place
      if (at && error.code !== "invalid_query") this.#say(error.message, true)
      else this.#showError(error)
    }
  }

  /** Shows the panel of a place, and which version it has. */
  #showView({ view = "data", at, panel }) {
    const isHistory = view === "history"
    for (const panel of this.panels) panel.hidden = panel.id !== `panel-${view}`
    for (const tab of this.tablist.children) {
      const isSelected = view === "panel" ? tab.dataset.panel === panel : tab.id === `tab-${view}`
      tab.setAttribute("aria-selected", String(isSelected))
      tab.tabIndex = isSelected ? 0 : -1
      if (isSelected) tab.scrollIntoView({ block: "nearest", inline: "nearest" })
    }
    const needsGrid = isHistory || view === "data"
    if (needsGrid && (this.grid.parentNode === this.historyGrid) !== isHistory) {
      if (isHistory) this.historyGrid.append(this.grid)
      else this.hint.after(this.grid)
      this.grid.wasMoved()
    }
    this.inspector.hidden = this.rowsStatus.hidden = this.change.hidden = !needsGrid
    if (this.connection) {
      if (isHistory) this.history.start(this.connection, this.#classes)
      else this.history.stop()
      if (view === "observers") this.observers.start(this.connection, () => this.inspector.querySelector("h2")?.textContent)
      else this.observers.stop()
      if (view === "schema") this.schema.show(this.connection, [...this.#classes.values()], this.#place?.class)
      if (view === "migrations") this.migrations.show(this.connection)
      this.panel.show(this.connection, view === "panel" ? panel : null)
      this.panel.parentNode.setAttribute("aria-label", panel ?? "Panel")
    }
    this.undo.disabled = this.redo.disabled = Boolean(at)
    this.schema.canWrite = !this.#isReadOnly && !at
    this.history.at = at ?? null
    this.version.replaceChildren(...(at && (needsGrid || view === "schema") ? [make("span", { role: "status", "aria-label": "Shown version" }, `version ${at}, read-only`),
      ...(isHistory ? [] : [make("button", { class: "small", onclick: () => this.#go({ ...this.#place, at: null, reveal: null }) }, "Show the newest")])] : []))
  }

  /** Adds a tab for each panel of the script. */
  #showPanels({ panels }) {
    const names = [...this.tablist.children].map((tab) => tab.dataset.panel).filter(Boolean)
    if (names.join("\n") === panels.join("\n")) return
    this.tablist.replaceChildren(...this.tabs, ...panels.map((name) => make("button", {
      role: "tab", "data-panel": name, "aria-controls": "panel-panel", "aria-selected": String(this.#place?.panel === name), tabindex: "-1",
      onclick: () => this.connection && this.#go({ ...this.#next, view: "panel", panel: name }), onkeydown: (event) => this.#tabKey(event),
    }, name)))
  }

  #tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const tabs = [...this.tablist.children]
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length]
    next.focus()
    next.click()
  }

  async #restore() {
    const { at } = this.#place
    try {
      const { version } = await this.connection.request("undo", { version: at })
      this.#go({ ...this.#place, at: null, reveal: null })
      this.#say(`version ${at} restored`)
      this.notice.version = version
    } catch (error) {
      if (error.name !== "AbortError") this.#say(error.message, true)
    }
  }

  /** Returns the address of a place in the shown version, and in the history if it is shown. */
  #link(place) { return fragment({ view: this.#place?.view === "history" ? "history" : "data", at: this.#place?.at, ...place }) }

  /** Requests rows of a place without changing the window. */
  async #list({ class: name, where, sort, linked, at }, first, count) {
    const request = this.connection.request("rows", { class: name, where, sort, linked: linked ?? undefined, at: at ?? undefined, first, count }, () => {})
    const { rows } = await request
    this.connection.end(request.id)
    return rows
  }

  #changed(id, event) {
    if (id !== this.#rows) return
    this.#showCount(event.total, event.all)
    if (!(event.version <= this.notice.version)) this.notice.replaceChildren()
    if (!event.reset) {
      const sum = (ranges) => ranges.reduce((total, [, count]) => total + count, 0)
      this.change.textContent = `version ${event.version}: ${sum(event.insertions)} inserted, ${sum(event.deletions)} deleted, ${
        sum(event.modifications)} modified`
    }
    this.grid.apply(event)
  }

  #showCount(total, all) {
    this.rowsStatus.textContent = total === all ? countText(total) : `${total} of ${countText(all)}`
  }

  // The filter --------------------------------------------------------------------------------------------------------

  #showError(error) {
    this.filter.setAttribute("aria-invalid", error ? "true" : "false")
    if (!error) return this.filterError.replaceChildren()
    const marked = error.column ? `\n${error.text}\n${" ".repeat(error.column - 1)}^${"~".repeat(Math.max(0, (error.length ?? 1) - 1))}` : ""
    this.filterError.replaceChildren(make("pre", { role: "alert", "aria-label": "Filter error" }, error.message + marked))
  }

  #typed() {
    this.#complete()
    clearTimeout(this.#typing)
    this.#typing = setTimeout(() => this.#applyFilter(), 300)
  }

  #applyFilter() {
    clearTimeout(this.#typing)
    if (!this.#next?.class) return
    const place = { ...this.#next, where: this.filter.value.trim(), linked: null, reveal: null }
    history.replaceState(null, "", fragment(place))
    this.#open(place)
  }

  #filterKey(event) {
    const options = [...this.completions.children]
    const index = options.findIndex((option) => option.getAttribute("aria-selected") === "true")
    const isOpen = !this.completions.hidden
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault()
      if (!isOpen) return this.#complete()
      const next = (index + (event.key === "ArrowDown" ? 1 : options.length)) % options.length
      options.forEach((option, i) => option.setAttribute("aria-selected", i === next ? "true" : "false"))
      this.filter.setAttribute("aria-activedescendant", options[next].id)
      options[next].scrollIntoView({ block: "nearest" })
    } else if ((event.key === "Enter" || event.key === "Tab") && isOpen && index >= 0) {
      event.preventDefault()
      this.#accept(options[index])
    } else if (event.key === "Enter") {
      this.#closeCompletions()
      this.#applyFilter()
    } else if (event.key === "Escape") {
      if (isOpen) this.#closeCompletions()
      else this.grid.focus()
    }
  }

  /** Completes the text before the cursor: properties along a path of links, operators of a property, or its values. */
  #complete() {
    this.#endCompletion()
    const before = this.filter.value.slice(0, this.filter.selectionStart)
    const path = /([\p{L}_][\p{L}\p{N}_]*\.)*[\p{L}_]?[\p{L}\p{N}_]*$/u.exec(before)[0]
    const parts = path.split(".")
    const word = parts.pop()
    const classAt = (names) => names.reduce((found, name) =>
      this.#classes.get(found?.properties.find((property) => property.name === name)?.base), this.#classes.get(this.#place?.class))
    const find = (names) => {
      const owner = classAt(names.slice(0, -1))
      return { owner, property: owner?.properties.find((property) => property.name === names.at(-1)) }
    }
    const compared = comparison.exec(before)
    const isQuoted = /^['"]/.test(compared?.[2] ?? "")
    let found = []
    if (!isQuoted && (word || parts.length)) {
      found = (classAt(parts)?.properties ?? []).map(({ name }) => name).filter((name) => name.startsWith(word) && name !== word)
        .map((name) => parts.length ? name : quoted(name))
    } else if (!isQuoted) {
      const last = /([\p{L}_][\p{L}\p{N}_.]*)\s+$/u.exec(before)?.[1].split(".")
      const property = last && find(last).property
      if (property) found = operators[property.base] ?? operators.other
    }
    const options = found.map((text) => ({ text, replaced: word.length }))
    this.#offer(options)
    if (compared) this.#completeValue(find(compared[1].split(".")), compared[2], options)
  }

  /** Adds the values of a property that begin with the typed text. */
  #completeValue({ owner, property }, typed, others) {
    const offer = (values) => this.#offer([...values.filter((text) => text !== typed).map((text) => ({ text, replaced: typed.length })), ...others])
    if (property?.form === "link") return offer(["nil"].filter((text) => text.startsWith(typed)))
    if (property?.form !== "value" || ["data", "mixed"].includes(property.base)) return
    if (property.base === "bool") return offer(["true", "false"].filter((text) => text.startsWith(typed)))
    const text = typed.replace(/^['"]/, "").replace(/\\(.)/g, "$1")
    this.#asking = setTimeout(async () => {
      this.#values = this.connection.request("complete", { class: owner.name, property: property.name, text })
      try { offer((await this.#values).values) } catch { /* Without values, the other completions stay. */ }
    }, 150)
  }

  #offer(options) {
    this.completions.replaceChildren(...options.slice(0, 12).map(({ text, replaced }, index) =>
      make("li", { role: "option", id: `completion-${index}`, "aria-selected": "false", "data-replaced": replaced,
        onmousedown: (event) => {
          event.preventDefault()
          this.#accept(event.target)
        } }, text)))
    this.completions.hidden = !options.length
    this.filter.setAttribute("aria-expanded", String(options.length > 0))
    this.filter.removeAttribute("aria-activedescendant")
  }

  #accept(option) {
    const end = this.filter.selectionStart
    this.filter.setRangeText(option.textContent + " ", end - Number(option.dataset.replaced), end, "end")
    this.#closeCompletions()
    this.#typed()
  }

  #endCompletion() {
    clearTimeout(this.#asking)
    if (this.#values) this.connection.end(this.#values.id)
    this.#values = null
  }

  #closeCompletions() {
    this.#endCompletion()
    this.#offer([])
  }

  // The inspector -----------------------------------------------------------------------------------------------------

  async #inspect(name, ref) {
    this.#selected = ref === null || ref === undefined ? null : { class: name, ref }
    this.copy.disabled = !this.#selected
    const at = this.#place.at ?? undefined
    if (this.inspected === `${name} ${ref} ${at}` && this.#object) return
    this.inspected = `${name} ${ref} ${at}`
    if (this.#object) this.connection.end(this.#object)
    this.#object = null
    if (ref === null || ref === undefined) return this.#showObject(null)
    const request = this.connection.request("object", { class: name, ref, at }, (event) => this.#showObject(event))
    this.#object = request.id
    try {
      this.#showObject(await request)
    } catch (error) {
      if (error.name !== "AbortError") this.inspector.replaceChildren(make("p", { role: "alert" }, error.message))
    }
  }

  #showObject(object) {
    if (!object?.properties) {
      const text = object?.deleted ? "The object was deleted." : "Select a row to see its object."
      return this.inspector.replaceChildren(make("p", { class: "empty" }, text))
    }
    const own = this.#classes.get(object.class)
    const keyValue = object.properties.find((property) => property.name === own?.key)?.value
    const terms = object.properties.flatMap((property) => {
      const column = own?.properties.find((found) => found.name === property.name)
      return [make("dt", { "aria-label": property.name, "data-type": property.type }, property.name),
        make("dd", { class: styleOf(property.value) }, ...this.#parts(object, property.value, column, own, keyValue))]
    })
    const links = object.links.map(({ class: source, property, count, where }) =>
      make("li", {}, make("a", { href: this.#link(placeOfLinks(source, property, { class: object.class, ref: object.ref, where })) },
        `${source}.${property}, ${countText(count)}`)))
    this.inspector.replaceChildren(make("h2", {}, object.name), make("dl", {}, ...terms),
      ...(links.length ? [make("h3", {}, "Linked from"), make("ul", {}, ...links)] : []))
  }

  #parts(object, value, column, own, keyValue) {
    if (!isRich(value)) return [textOf(value, column)]
    if (value.link) return [make("a", { href: this.#link({ class: value.link, reveal: value.ref }) }, value.text)]
    if (value.backlinks) {
      const source = this.#classes.get(column.base)?.properties.find((property) => property.name === column.path)
      const where = predicateOfLinks(column.path, source?.form, own?.key, keyValue)
      return [make("a", { href: this.#link(placeOfLinks(column.base, column.path, { class: object.class, ref: object.ref, where })) },
        countText(value.count))]
    }
    const isCut = value.size || value.head && value.head.length < (value.list ?? value.set ?? value.map)
    if (value.head?.some((item) => isRich(item) && item.link)) {
      return [make("ul", {}, ...value.head.map((item) =>
        make("li", {}, make("a", { href: this.#link({ class: item.link, reveal: item.ref }) }, item.text)))), isCut ? "…" : ""]
    }
    const text = make("span", {}, textOf(value, column))
    if (!isCut) return [text]
    return [text, make("button", { class: "small", onclick: async (event) => {
      const whole = (await this.connection.request("value", { class: object.class, ref: object.ref, property: column.name, at: this.#place.at ?? undefined })).value
      text.textContent = isRich(whole) && whole.data !== undefined ? whole.data : textOf(whole, column)
      event.target.remove()
    } }, "Show all")]
  }

  // Writing -----------------------------------------------------------------------------------------------------------

  get #canWrite() { return !this.#isReadOnly && !this.#place?.at }

  /** Shows a message until the next commit. */
  #say(text, isError) {
    this.notice.version = 0
    this.notice.replaceChildren(make("span", { role: isError ? "alert" : "status", "aria-label": isError ? "Error" : "Notice" }, text))
  }

  async #reverse(action) {
    if (!this.#canWrite) return
    try {
      const { reversed, repeated, version } = await this.connection.request(action)
      this.#say(action === "undo" ? `version ${reversed} undone` : `version ${repeated} redone`)
      this.notice.version = version
    } catch (error) {
      if (error.name !== "AbortError") this.#say(error.message, true)
    }
  }

  #add() {
    if (this.addition.disabled || !this.addition.checkVisibility()) return
    const { connection } = this
    const name = this.#place.class
    addObject({ connection, classes: this.#classes, name, submit: async (operation) => {
      const { objects } = await connection.request("write", { operations: [operation] })
      this.#open({ ...this.#place, reveal: objects[0].ref })
    } })
  }

  async #delete() {
    if (this.deletion.disabled || this.deletion.hidden) return
    try {
      await deleteObjects({ connection: this.connection, name: this.#place.class, refs: this.grid.chosen })
    } catch (error) {
      if (error.name !== "AbortError") this.#say(error.message, true)
    }
  }

  #chooseLink({ place, column, value }) {
    chooseObject({
      connection: this.connection, classes: this.#classes, name: column.base, current: value,
      choose: (link, operations) => this.connection.request("write", { operations: [...operations, { do: "set", ...place, value: link, was: value }] }),
    }).addEventListener("close", () => this.grid.focus())
  }

  async #editCollection(detail) {
    try {
      const dialog = await editCollection({ connection: this.connection, classes: this.#classes, ...detail })
      dialog.addEventListener("close", () => this.grid.focus())
    } catch (error) {
      if (error.name !== "AbortError") this.#say(error.message, true)
    }
  }

  #import(file) {
    if (this.#isReadOnly || !this.connection || document.querySelector("dialog[open]")) return
    importFile({ connection: this.connection, upload: (chosen) => this.connection.upload(chosen), file, imported: (text) => {
      this.notice.replaceChildren(make("span", { role: "status", "aria-label": "Import" }, text))
      this.notice.version = Infinity
    } })
  }

  // Dialogs -----------------------------------------------------------------------------------------------------------

  #chooseColumns() {
    const boxes = this.grid.columns.map(({ name }) => make("label", {}, make("input", {
      type: "checkbox", checked: this.grid.isShown(name), onchange: (event) => this.grid.setShown(name, event.target.checked),
    }), name))
    const dialog = openDialog("Columns", make("div", { class: "choices" }, ...boxes),
      make("div", { class: "buttons" }, make("button", { class: "primary", onclick: () => dialog.close() }, "Done")))
  }

  #chooseCopy(opener) {
    this.copies.querySelector("[role=menu]")?.remove()
    const objects = { class: this.#selected.class, refs: this.grid.chosen }
    const items = [["lua", "Lua"], ["json", "JSON"], ["csv", "CSV"]].map(([format, name]) =>
      make("button", { role: "menuitem", tabindex: "-1", onclick: () => this.#copy(objects, format, name, opener) }, name))
    const move = (event) => {
      const index = items.indexOf(document.activeElement)
      const to = { ArrowDown: index + 1, ArrowUp: index - 1 + items.length, Home: 0, End: items.length - 1 }[event.key]
        ?? items.findIndex((item) => item.textContent.toLowerCase().startsWith(event.key.toLowerCase()))
      if (event.key === "Escape") opener.focus()
      else if (to >= 0) items[to % items.length].focus()
      else return
      event.preventDefault()
    }
    const close = (event) => {
      if (menu.contains(event.relatedTarget)) return
      menu.remove()
      this.copy.setAttribute("aria-expanded", "false")
    }
    const menu = make("div", { role: "menu", "aria-label": "Copy as", onkeydown: move, onfocusout: close }, ...items)
    this.copies.append(menu)
    this.copy.setAttribute("aria-expanded", "true")
    items[0].focus()
  }

  async #copy(objects, format, name, opener) {
    opener.focus()
    try {
      const { text } = await this.connection.request("copy", { ...objects, format, at: this.#place.at ?? undefined })
      await navigator.clipboard.writeText(text)
      this.copied.textContent = `${countText(objects.refs.length)} copied as ${name}`
    } catch (error) {
      this.copied.textContent = error.name === "AbortError" ? "" : error.message
    }
  }

  #goToRow() {
    const row = make("input", { type: "number", min: "1", value: "1", "aria-label": "Row" })
    const dialog = openDialog("Go to row", make("form", { method: "dialog", onsubmit: (event) => {
      event.preventDefault()
      dialog.close()
      this.grid.goTo(Number(row.value) - 1)
    } }, row, make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      make("button", { class: "primary", type: "submit" }, "Go"))))
    row.select()
  }

  #export() {
    if (!this.#place?.class) return
    const format = make("select", { "aria-label": "Format" }, ...[["csv", "CSV"], ["json", "JSON"], ["jsonl", "JSON Lines"], ["sqlite", "SQLite"],
      ["lua", "Lua"]].map(([value, text]) => make("option", { value }, text)))
    const message = make("p", { role: "status", "aria-label": "Export" })
    const { class: name, where, sort, linked, at } = this.#place
    let running = null
    const start = async () => {
      button.disabled = true
      message.textContent = "Writing …"
      running = this.connection.request("export", { class: name, where, sort, linked: linked ?? undefined, at: at ?? undefined, format: format.value })
      try {
        const file = await running
        make("a", { href: file.download, download: file.name }).click()
        message.textContent = `${countText(file.count)} written to ${file.name}`
      } catch (error) {
        message.textContent = error.name === "AbortError" ? "" : error.message
      }
      running = null
      button.disabled = false
    }
    const button = make("button", { class: "primary", onclick: start }, "Export")
    const dialog = openDialog("Export", make("p", {}, this.rowsStatus.textContent + (where ? `  where ${where}` : "")), make("label", {}, "Format ", format), message,
      make("div", { class: "buttons" }, make("button", { onclick: () => dialog.close() }, "Close"), button))
    dialog.addEventListener("close", () => running && this.connection.end(running.id))
  }

  #showKeys() {
    const dialog = openDialog("Keys", make("dl", { class: "keys" }, ...keys.flatMap(([key, text]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)])),
      make("div", { class: "buttons" }, make("button", { class: "primary", onclick: () => dialog.close() }, "Close")))
  }

  #key(event) {
    if (document.querySelector("dialog[open]")) return
    const isTyping = event.target.matches("input:not([type=range], [type=checkbox]), select, textarea")
    if (event.ctrlKey && event.key.toLowerCase() === "g" && this.grid.checkVisibility()) {
      event.preventDefault()
      this.#goToRow()
    } else if (event.ctrlKey && event.key.toLowerCase() === "z" && !isTyping) {
      event.preventDefault()
      this.#reverse(event.shiftKey ? "redo" : "undo")
    } else if (event.ctrlKey && event.key === "`" && !this.console.hidden) {
      event.preventDefault()
      this.console.focus()
    } else if (event.key === "Insert" && !isTyping) {
      this.#add()
    } else if (event.key === "Delete" && !event.ctrlKey && event.target === this.grid) {
      this.#delete()
    } else if (event.key === "?" && !isTyping) {
      this.#showKeys()
    } else if (event.key === "/" && !isTyping) {
      event.preventDefault()
      this.filter.focus()
    } else if (event.altKey && event.key === "ArrowLeft" && this.#trail.length) {
      event.preventDefault()
      this.#goBack()
    }
  }
}

customElements.define("studio-app", StudioApp)
