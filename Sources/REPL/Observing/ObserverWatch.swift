import LuaHost
import ScriptHost
import StoreBindings

/// Labels the output of the running observer or timer.
///
/// Thread: the script's thread.
final class ObserverWatch {
    private let output: SessionOutput
    private let style: Style
    private var label = ""

    init(_ output: SessionOutput, _ style: Style) {
        self.output = output
        self.style = style
    }

    /// Starts to label and measure the calls of a script.
    func watch(_ context: ScriptContext) {
        context.storeModule.aroundCalls = { [weak self] token, call in
            guard let self else { return try call() }
            try named(Self.label(of: token), call)
        }
        context.aroundCallbacks = { [weak self] source, call in
            guard let self else { return try call() }
            try named(Self.label(of: source), call)
        }
    }

    /// Returns the label of an observer: its name, or the number that `.why` takes.
    static func label(of token: TokenHandle) -> String {
        token.name.isEmpty ? "observer \(token.number)" : token.name
    }

    /// Returns `timer (zoo.lua:3)` without the parentheses.
    private static func label(of source: String) -> String {
        source.filter { $0 != "(" && $0 != ")" }
    }

    private func named(_ name: String, _ call: () throws -> Void) rethrows {
        let outer = label
        set(Style.rendered(style.paint("[\(name)]", .type), onOneLine: true) + " ")
        defer { set(outer) }
        try call()
    }

    /// Runs a function whose output has no label.
    func unlabelled(_ body: () -> Void) {
        guard !label.isEmpty else { return body() }
        let outer = label
        set("")
        defer { set(outer) }
        body()
    }

    private func set(_ label: String) {
        self.label = label
        output.label(label)
    }
}
