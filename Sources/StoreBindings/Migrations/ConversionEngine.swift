import LuaHost
import MemoryAccounts
import ObjectStore

/// Runs the functions of started migrations as Lua code without access to files, programs, the clock or a store.
package struct ScriptConversions: ConversionProvider {
    /// Creates a provider.
    package init() {}

    /// Returns an engine with a Lua state of its own.
    package func makeEngine(_ code: ConversionCode) throws -> any ConversionEngine {
        try LuaConversionEngine(code)
    }
}

/// The functions of a migration in a confined Lua state, which sees one object at a time.
///
/// Confined to the thread of its store.
private final class LuaConversionEngine: ConversionEngine {
    private static let memory = 16 << 20
    private static let instructions: Int64 = 1_000_000

    let functions: [String: (up: Bool, down: Bool)]
    private let state: LuaState
    private let values: ConvertedValues
    private let fileName: String
    private var ups: [String: LuaFunction] = [:]
    private var downs: [String: LuaFunction] = [:]
    // One pair of arguments for all calls.
    private let source: SourceObject
    private let target: TargetObject
    private let arguments: [LuaValue]

    init(_ code: ConversionCode) throws {
        let state = LuaState(
            libraries: .confined, isConfined: true, ignoresEnvironment: true,
            account: MemoryAccount(limit: Self.memory))
        let dates = DateClass()
        state.register(dates, name: "date", methods: DateClass.methods, properties: DateClass.names)
        let null = state.userdata(NullMarker(), NullMarker.type)
        let values = ConvertedValues(LuaJSON(state: state, null: null, dates: dates))
        let constructors = state.makeTable(fields: 16)
        ModuleFunctions.addValues(to: constructors, dates, state)
        constructors["null"] = null
        let helpers = state.makeTable(fields: code.helpers.count)
        for (name, text) in code.helpers { helpers[name] = .text(text) }
        state.countMemory()
        state.setInstructionLimit(Self.instructions)
        let table: LuaTable?
        do {
            let load = try state.runtimeFile("migrate/conversion").table?["functions"].function
            table =
                try load?.call([
                    .text(code.text), .text(code.fileName), .table(helpers), .table(constructors),
                    .table(state.globals),
                ]).first?.table
        } catch {
            throw StoreError(
                .invalidArgument,
                "the functions of '\(code.fileName)' cannot be used by a conversion: \(error.message)"
            )
        }
        var functions: [String: (up: Bool, down: Bool)] = [:]
        for (name, pair) in table?.pairs ?? [] {
            guard let name = name.text, let pair = pair.table else { continue }
            ups[name] = pair["up"].function
            downs[name] = pair["down"].function
            functions[name] = (ups[name] != nil, downs[name] != nil)
        }
        self.functions = functions
        self.state = state
        self.values = values
        fileName = code.fileName
        source = SourceObject(values)
        target = TargetObject(values)
        arguments = [
            state.userdata(source, SourceObject.type), state.userdata(target, TargetObject.type),
        ]
    }

    func convert(
        _ className: String, isUp: Bool, _ source: ConversionSource, to target: ConversionTarget
    ) throws -> [String: Value] {
        guard let function = (isUp ? ups : downs)[className] else { return [:] }
        self.source.begin(source)
        self.target.begin(target)
        defer {
            self.source.end()
            self.target.end()
        }
        do {
            _ = try function.call(arguments)
        } catch {
            throw try failure(error)
        }
        return self.target.values
    }

    /// Returns the reason why a function failed; throws the error of a stop.
    private func failure(_ error: LuaError) throws -> ConversionFailure {
        if error.kind == .interrupted, error.limit == nil { throw error }
        let cause = error.underlying as? StoreError
        let isMisuse = cause.map {
            [.invalidArgument, .unknownProperty].contains($0.code)
        }
        // A message begins with the file and the line, such as `0002_names.lua:8: `.
        var message = Substring(error.message)
        guard message.hasPrefix(fileName + ":") else {
            return ConversionFailure(error.message, isMisuse: isMisuse ?? false)
        }
        message = message.dropFirst(fileName.count + 1)
        let digits = message.prefix { $0.isNumber }
        return ConversionFailure(
            String(message.dropFirst(digits.count + 2)), line: Int(digits),
            isMisuse: isMisuse ?? false)
    }
}

/// Converts between the values of objects and of conversions.
private struct ConvertedValues {
    let json: LuaJSON

    init(_ json: LuaJSON) { self.json = json }

    func lua(_ value: Value, _ source: SourceObject?) -> LuaValue {
        json.lua(value) { reference in
            if let embedded = source?.embedded(reference) {
                return json.state.userdata(embedded, SourceObject.type)
            }
            return json.state.userdata(ConversionLink(reference), ConversionLink.type)
        }
    }

    /// Converts a value that a function assigns to a property.
    func value(_ value: LuaValue, for property: Property, depth: Int = 0) throws -> Value {
        if property.type == .data, case .string(let string) = value { return .data(string.bytes) }
        if let plain = json.value(value) { return plain }
        guard case .table(let table) = value else {
            throw StoreError(
                .typeMismatch,
                "property '\(property.name)' expects \(property.typeName), got a \(value.typeName)")
        }
        guard depth < StoreLimits.nesting else {
            throw StoreError(
                .invalidArgument,
                "property '\(property.name)' can nest at most \(StoreLimits.nesting) tables; this one nests more, or "
                    + "contains itself")
        }
        // The values of an embedded object have the types of its class, which converts them later.
        let isEmpty = property.type == .object && table.keys.isEmpty
        let kind = depth == 0 ? property.collection : nil
        let refusal = StoreError(
            .typeMismatch,
            "property '\(property.name)' takes an array without gaps, or a table with text as keys")
        return try json.collection(table, kind ?? (isEmpty ? .map : nil)) { _ in
            refusal
        } _: { element in
            if element.isNil, kind == nil { throw refusal }
            return try self.value(element, for: property, depth: depth + 1)
        }
    }
}

/// A link to an object, which a function can pass on and not read.
private final class ConversionLink: ValueBox {
    let reference: ObjectReference
    init(_ reference: ObjectReference) { self.reference = reference }
    override var value: Value { .object(reference) }

    static let type: LuaClass<ConversionLink> = LuaClass(
        name: "link",
        metamethods: [
            LuaMethod.equality(of: type) { $0.reference == $1.reference },
            LuaMethod("__tostring") { _, call in call.answer("a link to another object") },
        ],
        other: { _, key, _ in
            throw StoreError(
                .invalidArgument,
                "a conversion reads only its own object, and not '\(key.text ?? "")' of a linked one: a change there "
                    + "would not run it")
        })
}

/// The object that a function reads.
private final class SourceObject {
    private let values: ConvertedValues
    private var source: ConversionSource?
    /// The embedded objects that the function has read.
    private var embedded: [SourceObject] = []

    init(_ values: ConvertedValues) { self.values = values }

    func begin(_ source: ConversionSource) {
        assert(self.source == nil, "one object is converted at a time")
        self.source = source
    }

    func end() {
        source = nil
        for object in embedded { object.end() }
        embedded = []
    }

    func embedded(_ reference: ObjectReference) -> SourceObject? {
        guard let found = source?.embedded(reference) else { return nil }
        let object = SourceObject(values)
        object.begin(found)
        embedded.append(object)
        return object
    }

    static let type: LuaClass<SourceObject> = LuaClass(
        name: "source",
        other: { object, key, result in
            let source = try required(object.source)
            result.set(object.values.lua(try source.value(of: try name(key)), object))
            return true
        },
        setOther: { object, key, _ in
            throw StoreError(
                .invalidArgument,
                "'\(try required(object.source).classSchema.name).\(try name(key))' is the source of the conversion; "
                    + "it sets properties of its second argument")
        })
}

/// The properties that a function sets.
private final class TargetObject {
    private let converted: ConvertedValues
    private var target: ConversionTarget?
    private(set) var values: [String: Value] = [:]

    init(_ converted: ConvertedValues) { self.converted = converted }

    func begin(_ target: ConversionTarget) {
        self.target = target
        values = [:]
    }

    func end() {
        target = nil
        values = [:]
    }

    static let type: LuaClass<TargetObject> = LuaClass(
        name: "target",
        other: { object, key, result in
            let (target, name) = (try required(object.target), try name(key))
            _ = try target.classSchema.requireProperty(name)
            guard let value = object.values[name] else {
                throw StoreError(
                    .invalidArgument,
                    "'\(target.classSchema.name).\(name)' has no value yet: a conversion reads from its first argument"
                )
            }
            result.set(object.converted.lua(value, nil))
            return true
        },
        setOther: { object, key, field in
            let (target, name) = (try required(object.target), try name(key))
            let property = try target.property(name)
            let value = try object.converted.value(field.luaValue, for: property)
            object.values[name] = try target.stored(value, for: name)
            return true
        })
}

/// Returns the content of an argument of a conversion, which is nil after its call.
private func required<Part>(_ part: Part?) throws -> Part {
    if let part { return part }
    throw StoreError(
        .invalidArgument, "the arguments of a conversion cannot be used after its call")
}

private func name(_ key: LuaValue) throws -> String {
    if let name = key.text { return name }
    throw StoreError(.unknownProperty, "expected the name of a property, got a \(key.typeName)")
}

extension StartedMigration {
    /// Returns the state as a table, with the first failures; the rate is that of the process that converts.
    package func lua(_ state: LuaState, process: Int32?) -> LuaTable {
        let table = state.makeTable(fields: 11)
        table["number"] = .integer(Int64(number))
        table["name"] = .text(name)
        table["state"] = .text(isReady ? "both" : "converting")
        table["started_at"] = .text(startedAt.description)
        table["converted"] = .integer(Int64(converted))
        table["remaining"] = .integer(Int64(total - converted))
        if let process {
            let seconds = Double(Timestamp.now.microseconds - run.startedAt.microseconds) / 1e6
            let count = Double(max(converted - run.converted, 0))
            table["rate"] = .number((count / max(seconds, 0.001)).rounded())
            table["process"] = .integer(Int64(process))
        }
        table["failed_count"] = .integer(Int64(failures.count))
        let shown = failures.prefix(10).map { failure in
            let entry = state.makeTable(fields: 4)
            entry["class"] = .text(failure.className)
            entry["key"] = .text(failure.key)
            entry["direction"] = "up"
            entry["message"] = .text(failure.message)
            return LuaValue.table(entry)
        }
        table["failed"] = .table(state.makeTable(shown))
        return table
    }
}
