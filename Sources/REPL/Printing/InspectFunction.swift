import LuaHost
import ScriptHost
import StoreBindings

/// The function `moonpool.inspect(value, options)`: returns the prompt's text of a value, without colors.
package enum InspectFunction {
    /// The maximum depth, because deeper tables could exceed the stack of a thread.
    private static let deepest = 100
    private static let maximum = 1_000_000

    /// Installs the function in a script; `columns` is the default width of its result.
    package static func install(
        in context: ScriptContext, columns: @escaping @Sendable () -> Int = { 80 }
    ) {
        let functionInfo = context.state.globals["debug"].table?["getinfo"].function
        let module = context.storeModule
        context.module["inspect"] = .function(
            context.state.makeFunction("inspect", of: "moonpool") { [weak module] call in
                guard let module else { return .none }
                let limits = try limits(call, within: PrintLimits(columns: max(columns(), 20)))
                let printer = ValuePrinter(
                    module, limits: limits, style: .plain, functionInfo: functionInfo)
                return call.answer(.text(printer.print(call[1]).text))
            })
    }

    /// Returns limits with the options in argument 2.
    static func limits(
        _ call: borrowing LuaCall, within limits: PrintLimits
    ) throws -> PrintLimits {
        var limits = limits
        guard let table = try call.options(2) else { return limits }
        func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
            let value = table[name]
            if value.isNil { return nil }
            guard let number = value.integer, number >= Int64(range.lowerBound) else {
                throw call.argumentError(
                    2, "option '\(name)': expected an integer of at least \(range.lowerBound)")
            }
            return min(Int(clamping: number), range.upperBound)
        }
        limits.depth = try number("depth", 0...deepest) ?? limits.depth
        limits.items = try number("items", 0...maximum) ?? limits.items
        limits.rows = try number("rows", 1...maximum) ?? limits.rows
        limits.string = try number("string", 0...Int(Int32.max)) ?? limits.string
        limits.columns = try number("width", 20...maximum) ?? limits.columns
        return limits
    }
}

extension ValuePrinter {
    /// Creates a printer that describes values of stores, and the locations of functions if Lua's `debug.getinfo` is
    /// given.
    init(
        _ module: StoreModule, limits: PrintLimits, style: Style, functionInfo: LuaFunction?
    ) {
        self.init(
            state: module.state, limits: limits, style: style,
            describe: { StoreValues(module: module).describe($0, limits: $1) })
        location = { function in
            guard let info = try? functionInfo?.call([.function(function), "S"]).first?.table,
                let source = info["short_src"].text, let line = info["linedefined"].integer
            else { return nil }
            return line > 0 ? "\(source):\(line)" : "built in"
        }
    }
}
