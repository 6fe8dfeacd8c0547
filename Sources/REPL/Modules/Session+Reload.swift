extension Session {
    /// Runs `.reload`: reloads one module or all changed ones, or switches automatic reloading on or off.
    func reload(_ argument: String) throws {
        switch argument {
        case "on":
            automaticReload = automaticReload ?? AutomaticReload(self)
            write(
                "modules and loaded files are reloaded when they change; .reload off stops this\n")
        case "off":
            automaticReload = nil
            write("only .reload reloads modules and loaded files\n")
        case "":
            let names = modules.changed
            if names.isEmpty { return write("no module has changed\n") }
            for name in names { reloadOne(name) }
        default: reloadOne(argument)
        }
    }

    /// Reloads a module and reports the outcome.
    ///
    /// Returns whether it succeeded.
    @discardableResult  // because only a retry needs the outcome
    func reloadOne(_ name: String) -> Bool {
        do {
            let (before, after) = try modules.reload(name)
            let observers =
                before + after == 0
                ? "" : "; \(ValueText.count(after, "observer")) in place of \(before)"
            screen.writeToScreen("reloaded \(name)\(observers)\n")
            return true
        } catch {
            fail(error)
            if !(error is CommandError) { fail("\(name) is unchanged, with its observers") }
            return false
        }
    }
}
