import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

extension Session {
    /// The store for commands and the prompt: the variable `store`, or the store opened last.
    var store: StoreHandle? {
        if let visited, !visited.handle.store.isClosed { return visited.handle }
        for value in [evaluator.local("store"), context.state.globals["store"]] {
            if let value, case .store(let handle)? = context.storeModule.inspect(value),
                !handle.store.isClosed
            {
                return handle
            }
        }
        return context.storeModule.handles.last
    }

    /// The prompt text: store name, version, `write` in a transaction, number of observers.
    package var prompt: String {
        let escape = "\u{1}"
        func paint(_ text: String, _ role: Style.Role) -> String {
            guard style.isColored else { return text }
            let parts = Style.rendered(style.paint("|", role)).split(separator: "|")
            guard parts.count == 2 else { return text }
            return "\(escape)\(parts[0])\(escape)\(text)\(escape)\(parts[1])\(escape)"
        }
        guard let handle = store else { return paint("moonpool", .strong) + "> " }
        var words = [
            paint(Self.shortName(handle.name), .strong),
            visitedVersion.map { paint("@v\($0)", .error) }
                ?? paint("v\(handle.store.version)", .dim),
        ]
        if handle.store.isInWrite { words.append(paint("write", .error)) }
        let observers = context.storeModule.activeTokens.count
        if observers > 0 {
            words.append(paint(ValueText.count(observers, "observer"), .type))
        }
        return words.joined(separator: " ") + "> "
    }

    private static func shortName(_ name: String) -> String {
        var short = name.split(separator: "/").last.map(String.init) ?? name
        if short.hasSuffix(".moonpool") { short.removeLast(".moonpool".count) }
        short = ControlCharacters.escaped(short, onOneLine: true)
        return short.count > 48 ? short.prefix(47) + "…" : short
    }
}
