// A folder of migrations: its state, the next file, a rehearsal on a copy, and the application to the store.

import { make, countText, folders, showError } from "/elements.js"
import { codeField } from "/lua.js"

const tableOf = (name, heads, rows, className) => make("table", { "aria-label": name, class: `list ${className ?? ""}` },
  make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows))

const heads = ["Number", "Name", "State"]
const mostShown = 300 // objects of a rehearsal

class StudioMigrations extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return
    this.folder = make("input", {
      type: "text", "aria-label": "Folder", placeholder: "Folder, such as migrations", spellcheck: "false", onchange: () => this.#load(),
      onkeydown: (event) => event.key === "Enter" && this.#load(),
    })
    const button = (name, action, className) => make("button", { class: className, onclick: () => this.#run(action) }, name)
    this.apply = button("Apply", () => this.#apply(), "primary")
    this.error = make("div")
    this.list = make("div", {}, tableOf("Migrations", heads, []))
    this.result = make("div")
    this.append(make("div", { class: "bar" }, this.folder, button("Plan", () => this.#plan()), button("Rehearse", () => this.#rehearse()), this.apply),
      this.error, this.list, this.result)
  }

  set canWrite(canWrite) { this.apply.hidden = !canWrite }

  show(connection) {
    this.connection = connection
    if (!this.folder.value) this.folder.value = folders.last
    if (this.folder.value) this.#load()
  }

  async #run(action) {
    this.error.replaceChildren()
    this.result.replaceChildren()
    folders.last = this.folder.value
    this.setAttribute("aria-busy", "true")
    try { await action() } catch (error) { showError(this.error, "Migration error", error) }
    this.removeAttribute("aria-busy")
  }

  #request(action, fields) { return this.connection.request(action, { dir: this.folder.value, ...fields }) }

  #load() { return this.#run(() => this.#showList()) }

  async #showList() {
    this.list.replaceChildren(tableOf("Migrations", heads, []))
    const { migrations, problems, notes } = await this.#request("migrations")
    this.list.replaceChildren(
      tableOf("Migrations", heads, migrations.map(({ number, name, state, time, backup }) => make("tr", { class: state }, make("td", {}, String(number)),
        make("td", {}, name), make("td", {}, make("span", { class: "state" }, state), time ? make("span", { class: "dim" }, ` ${new Date(time).toLocaleString()}`) : null,
          backup ? make("span", { class: "dim" }, ` · backup ${backup}`) : null)))),
      ...(migrations.length ? [] : [make("p", { class: "empty" }, "The folder has no migrations.")]),
      ...notes.map((note) => make("p", { class: "dim" }, note)))
    if (problems.length) throw new Error(problems.join("\n"))
  }

  async #plan() {
    const { script, name } = await this.#request("plan")
    const field = make("textarea", { "aria-label": "Migration", class: "code", readonly: true, rows: String(Math.min(24, (script ?? "").split("\n").length)) })
    this.result.replaceChildren(make("section", { role: "region", "aria-label": "Planned migration" }, make("h2", {}, name ?? "Nothing to plan"),
      script ? codeField(field) : make("p", {}, "The folder already leads to the schema of the store.")))
    field.value = script ?? ""
  }

  async #rehearse() {
    await this.#showList()
    const { classes, dropped, count } = await this.#request("rehearse")
    const most = Math.max(1, Math.floor(mostShown / classes.length))
    const shown = classes.map((found) => ({ ...found, rows: found.rows.slice(0, most) }))
    const parts = shown.flatMap(({ class: name, rows, count: changed }) => [
      make("h3", {}, changed > rows.length ? `${name}: the first ${rows.length} of ${countText(changed)}` : `${name}: ${countText(changed)}`),
      tableOf(name, ["Object", "Property", "Before", "After"], rows.flatMap(({ name: object, changes }) => changes.map((change, index) =>
        make("tr", { class: change.is_dropped ? "dropped" : null }, make("td", {}, index ? "" : object), make("td", {}, change.property), make("td", {}, change.before), make("td", {}, change.after)))), "effects"),
    ])
    this.result.replaceChildren(make("section", { role: "region", "aria-label": "Rehearsal" }, make("h2", {}, "Rehearsal"),
      make("p", {}, count ? `${count} ${count === 1 ? "migration was" : "migrations were"} applied to a copy. The store is unchanged.` : "No migrations are pending."),
      ...dropped.map(({ name, count: lost, what }) => make("p", { class: "lost" }, `${lost} ${lost === 1 ? what.slice(0, -1) : what} of ${name} would be dropped`)), ...parts))
  }

  async #apply() {
    const { count, backup } = await this.#request("migrate")
    await this.#showList()
    this.result.replaceChildren(make("p", { role: "status", "aria-label": "Applied" }, `${count} ${count === 1 ? "migration" : "migrations"} applied${backup ? `; backup in ${backup}` : ""}`))
  }
}

customElements.define("studio-migrations", StudioMigrations)
