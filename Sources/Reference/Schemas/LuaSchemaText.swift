import DataFormats
import ObjectStore

/// Formats a schema as `moonpool.open` and `store:define` accept it.
package struct LuaSchemaText {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    /// A script that returns the schema.
    var script: String {
        let body = classes.map { Self.declaration($0, indent: "  ") }.joined()
        // Default values such as dates call functions of the module.
        let header = body.contains("moonpool.") ? "local moonpool = require \"moonpool\"\n\n" : ""
        return header + (body.isEmpty ? "return {}\n" : "return {\n\(body)}\n")
    }

    /// Returns the declaration of a class, `Dog = { … },` with a property on each line.
    ///
    /// Properties are keyed by name if this keeps their order; otherwise they are in an array.
    static func declaration(_ classSchema: ClassSchema, indent: String) -> String {
        let properties = classSchema.properties
        let canonical = properties.sorted {
            ($0.isPrimary ? 0 : 1, $0.name) < ($1.isPrimary ? 0 : 1, $1.name)
        }
        let isNamed = properties == canonical
        let names = properties.map {
            isNamed ? LuaLiteral.key($0.name) : LuaLiteral.string($0.name) + ","
        }
        let width = names.map(\.count).max() ?? 0
        var lines: [String] = []
        if classSchema.isEmbedded { lines.append("embedded = true") }
        for (name, property) in zip(names, properties) {
            let gap = String(repeating: " ", count: width - name.count)
            let type = Self.type(of: property)
            lines.append(isNamed ? "\(name)\(gap) = \(type)" : "{ \(name)\(gap) \(type) }")
        }
        if !classSchema.indexes.isEmpty {
            let indexes = classSchema.indexes.map { index in
                "{ \(index.properties.map(LuaLiteral.string).joined(separator: ", "))"
                    + (index.isUnique ? ", unique = true }" : " }")
            }
            lines.append("indexes = { \(indexes.joined(separator: ", ")) }")
        }
        let key = LuaLiteral.key(classSchema.name)
        guard !lines.isEmpty else { return "\(indent)\(key) = {},\n" }
        return "\(indent)\(key) = {\n" + lines.map { "\(indent)  \($0),\n" }.joined()
            + "\(indent)},\n"
    }

    /// Returns the rules of a property as further options: `, min = 0, max = 150`.
    package static func rules(of property: Property) -> String {
        property.rules.options.map { ", \($0.name) = \(LuaLiteral.value($0.value))" }.joined()
    }

    /// Returns the type of a property: `"int?"`, or the long form if there are more attributes.
    private static func type(of property: Property) -> String {
        let text = LuaLiteral.string(PropertySyntax.text(of: property))
        var more = ""
        if let value = property.defaultValue { more += ", default = \(LuaLiteral.value(value))" }
        if property.storedName != property.name {
            more += ", map_to = \(LuaLiteral.string(property.storedName))"
        }
        more += rules(of: property)
        return more.isEmpty ? text : "{ type = \(text)\(more) }"
    }
}

/// The classes of a schema as annotations of LuaLS: `---@class Dog: moonpool.Object`, with a field for each property.
///
/// The declarations refer to the annotations of the API.
struct LuaLSClasses {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    var text: String {
        "---@meta\n-- The classes of a store, for LuaLS. Written by `moonpool luals`.\n"
            + declarations
    }

    /// The declarations of the classes, each after an empty line.
    var declarations: String {
        var text = ""
        for classSchema in classes {
            text += "\n"
            text +=
                Self.reservedTypes.contains(classSchema.name)
                ? "-- '\(classSchema.name)' is omitted: LuaLS has a type with this name.\n"
                : Self.declaration(classSchema)
        }
        return text
    }

    /// Names that have another meaning as a type.
    ///
    /// For example, a class named `string` would give every string its properties.
    private static let reservedTypes: Set = [
        "unknown", "any", "nil", "boolean", "true", "false", "number", "integer", "thread", "table",
        "string", "userdata", "lightuserdata", "function", "fun", "async", "self", "void",
    ]
    /// Words that set the visibility of a field before its name.
    private static let visibilities: Set = ["public", "protected", "private", "package"]

    private static func declaration(_ classSchema: ClassSchema) -> String {
        var lines: [String] = []
        if classSchema.isEmbedded { lines.append("--- Embedded: belongs to its parent.") }
        lines.append("---@class \(classSchema.name): moonpool.Object")
        for property in classSchema.properties {
            // A field name in brackets can be any string.
            let name =
                LuaLiteral.isName(property.name) && !visibilities.contains(property.name)
                ? property.name : "[\(LuaLiteral.string(property.name))]"
            lines.append(
                "---@field \(name) \(type(of: property)) \(PropertySyntax.text(of: property))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the type that a script reads from a property.
    private static func type(of property: Property) -> String {
        if property.isBacklinks {
            return "moonpool.Results<\(property.target ?? "moonpool.Object")>"
        }
        let isOptional = property.isOptional && property.type != .mixed
        let element = (property.target ?? property.type.traits.luaType) + (isOptional ? "?" : "")
        return switch property.collection {
        case .list: "moonpool.List<\(element)>"
        case .set: "moonpool.Set<\(element)>"
        case .map: "moonpool.Map<\(element)>"
        case nil: element
        }
    }
}

/// Formats values as Lua source that creates them.
package enum LuaLiteral {
    /// Returns whether a text is a Lua name: ASCII letters, digits and `_`, and not a keyword.
    package static func isName(_ text: String) -> Bool { LuaWords.isName(text) }

    /// Returns a key of a table constructor: `name`, or `["a name"]`.
    package static func key(_ text: String) -> String { isName(text) ? text : "[\(string(text))]" }

    /// Returns the access to a field of a table: `.name`, or `["a name"]`.
    package static func field(_ text: String) -> String {
        isName(text) ? "." + text : "[\(string(text))]"
    }

    /// Returns a quoted string.
    package static func string(_ text: String) -> String { string(Array(text.utf8), isText: true) }

    /// Returns a quoted string of any bytes.
    static func string(_ bytes: [UInt8], isText: Bool = false) -> String {
        var quoted: [UInt8] = [0x22]
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case 0x22, 0x5C: quoted += [0x5C, byte]
            case 0x0A: quoted += Array("\\n".utf8)
            case 0x20..<0x7F: quoted.append(byte)
            case 0x80... where isText: quoted.append(byte)
            default:
                // A digit after the escape sequence would be read as a part of it.
                let next = index + 1 < bytes.count ? bytes[index + 1] : 0
                let digits = String(byte)
                let zeros = (0x30...0x39).contains(next) ? 3 - digits.utf8.count : 0
                quoted += Array(("\\" + String(repeating: "0", count: zeros) + digits).utf8)
            }
        }
        return String(decoding: quoted + [0x22], as: UTF8.self)
    }

    /// Returns a value of a store as Lua source.
    ///
    /// Links have no literal and become `nil`. Dates and similar values become calls of functions of `moonpool`.
    package static func value(_ value: Value) -> String {
        switch value {
        case .null, .object: "nil"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): number == .min ? "math.mininteger" : "\(number)"
        case .float(let number): double(Double(number))
        case .double(let number): double(number)
        case .string(let text): string(text)
        case .data(let bytes): "moonpool.data(\(string(bytes)))"
        case .date(let moment): "moonpool.date(\(string(moment.description)))"
        case .fixed(let value): "moonpool.\(value.type.traits.name)(\(string(value.description)))"
        case .decimal(let number): "moonpool.decimal(\(string(number.description)))"
        case .list(let values):
            values.isEmpty
                ? "{}"
                : "{ \(values.map { $0 == .null ? "moonpool.null" : self.value($0) }.joined(separator: ", ")) }"
        case .dictionary(let entries):
            entries.isEmpty
                ? "{}"
                : "{ "
                    + entries.sorted { $0.key < $1.key }.map {
                        "\(key($0.key)) = \($0.value == .null ? "moonpool.null" : self.value($0.value))"
                    }.joined(separator: ", ") + " }"
        }
    }

    private static func double(_ number: Double) -> String {
        if number.isNaN { return "(0/0)" }
        if number.isInfinite { return number > 0 ? "math.huge" : "-math.huge" }
        return "\(number)"
    }
}
