import LuaHost
import ObjectStore

// The description of the Lua API: the annotations in `Sources/CLuaFiles/lua/api`, which are read when help, completion,
// lint or a check of arguments first need them.
//
// Each name has one entry with its signatures, a summary, the errors that it can raise, and an example that a test
// runs. Other tests compare the names with the tables and values of a running script, in both directions.

/// All names that a script can use.
package enum HelpCatalog {
    private static let content = {
        var reader = AnnotationReader()
        for name in RuntimeFile.names(in: "api/") { reader.read(RuntimeFile.lines(name)) }
        return reader
    }()

    /// All types, in the order of the reference page.
    package static let types = content.types
    /// All entries, by the first type that has them.
    package static let entries = content.entries
    /// All codes of errors.
    package static let errors = content.errors

    private static let members = Dictionary(
        uniqueKeysWithValues: zip(types.map(\.name), content.members)
    ).mapValues { $0.map { entries[$0] } }

    /// The first lines of every example: a store with three classes, two dogs, their owner, and all dogs as results.
    package static let examplePrelude = RuntimeFile.text("example.lua")

    /// The type of the module `moonpool`.
    package static let moonpool = known("moonpool")
    /// The globals that exist only at the prompt.
    package static let prompt = known("prompt")
    /// The type of the module `moonpool.prompt`.
    package static let promptModule = known("moonpool.prompt")
    /// The type of stores.
    package static let store = known("store")
    /// The type of objects.
    package static let object = known("object")
    static let unmanaged = known("unmanaged object")
    /// The type of query results.
    package static let results = known("Results")
    /// The type of lists.
    package static let list = known("list")
    /// The type of sets.
    package static let set = known("set")
    /// The type of maps.
    package static let map = known("map")
    /// The type of sorted or filtered values of a collection.
    package static let valuesType = known("Values")
    /// The type of sections of results.
    package static let sectionsType = known("Sections")
    /// The type of projections of objects.
    package static let projection = known("projection")
    static let mixedMap = known("mixed map")
    /// The type of observer tokens.
    package static let token = known("token")
    static let date = known("date")
    static let decimal = known("decimal")
    static let migration = known("migration")

    private static func known(_ name: String) -> HelpType {
        guard let type = types.first(where: { $0.name == name }) else {
            preconditionFailure("the annotations have no type \(name)")
        }
        return type
    }

    /// Returns the entries of a type, without those of its parent.
    package static func entries(of type: HelpType) -> [HelpEntry] { members[type.name] ?? [] }

    /// Returns the entry with a name, which the type can inherit from its parent.
    ///
    /// The name of the type is that in help or that in annotations.
    package static func entry(_ name: String, of typeName: String) -> HelpEntry? {
        guard let type = types.first(where: { $0.name == typeName || $0.annotation == typeName })
        else { return nil }
        return entries(of: type).first { $0.name == name }
            ?? type.parent.flatMap { entry(name, of: $0) }
    }

    /// Returns how a function or method of a type is called, with the overload that has the most parameters; nil for an
    /// unknown one.
    package static func usage(of typeName: String, _ name: String) -> LuaUsage? {
        guard let entry = entry(name, of: typeName) else { return nil }
        let signatures = entry.signatures
        guard let longest = signatures.max(by: { $0.parameters.count < $1.parameters.count })
        else { return nil }
        let takesAny = signatures.contains { $0.parameters.last?.name == "..." }
        let names = longest.parameters.map { $0.name + ($0.isOptional ? "?" : "") }
        var options: [Int: [LuaUsage.Option]] = [:]
        for signature in signatures {
            for (index, parameter) in signature.parameters.enumerated() {
                let known = Self.options(in: parameter.type).map { name, type in
                    LuaUsage.Option(name, isFlag: type == "boolean" || type == "boolean?")
                }
                if !known.isEmpty { options[index + 1, default: []] += known }
            }
        }
        let prefix = typeName == prompt.name ? "" : typeName + entry.separator
        return LuaUsage(
            maxArguments: takesAny ? nil : longest.parameters.count,
            text: "\(prefix)\(name)(\(names.joined(separator: ", ")))", options: options)
    }

    /// Returns the keys and the types of the options in an argument of a function, which is counted from 1.
    package static func options(
        of typeName: String, _ name: String, _ index: Int
    ) -> [(name: String, type: String)] {
        let parameters = entry(name, of: typeName)?.signatures[0].parameters ?? []
        return index <= parameters.count ? options(in: parameters[index - 1].type) : []
    }

    /// Returns the keys of the tables of options that a type allows: `string|ExportOptions`, `{name: string?}`.
    package static func options(in type: String) -> [(name: String, type: String)] {
        TypeText.split(type[...], at: "|").flatMap { part -> [(name: String, type: String)] in
            if part.utf8.first == UInt8(ascii: "{") {
                return TypeText.split(part.dropFirst().dropLast(), at: ",").map {
                    let (name, type) = TypeText.divide($0, at: ":")
                    return (String(name), String(type))
                }
            }
            guard part.hasSuffix("Options") else { return [] }
            return types.first { $0.annotation == part }.map {
                entries(of: $0).map { entry in
                    guard case .field(let type, _) = entry.kind else { return (entry.name, "") }
                    return (entry.name, type)
                }
            } ?? []
        }
    }

    /// Returns the type with a name, ignoring case.
    package static func type(named name: String) -> HelpType? {
        let wanted = name.lowercased()
        return types.first { $0.name.lowercased() == wanted }
            ?? types.first { $0.annotation.lowercased() == wanted }
    }

    /// Returns the entries that `where`, `Results.where`, `dogs:where` or `moonpool.open` refers to.
    ///
    /// The part before the last separator selects a type if it names one. Otherwise it is ignored.
    package static func find(_ text: String) -> [HelpEntry] {
        let parts = text.split(whereSeparator: { $0 == "." || $0 == ":" })
        guard let name = parts.last.map(String.init) else { return [] }
        let named = entries.filter { $0.name == name }
        let before = parts.dropLast().joined(separator: ".")
        guard let type = type(named: before) else { return named }
        let own = named.filter { $0.owners.contains(type) }
        return own.isEmpty ? type.parent.map { find("\($0).\(name)") } ?? [] : own
    }
}

/// A code of errors: `err.code` in Lua.
package struct ErrorCode: Sendable, Hashable {
    /// The code, such as `not_in_write`.
    package let name: String
    /// A description of one sentence.
    package let summary: String
}

/// The type of an expression, as far as its text determines the type, for the linter and for completion.
package struct KnownType {
    /// The kind of value.
    package let type: HelpType
    /// The schema of the store that the value comes from; nil if it is unknown.
    package var schema: Schema?
    /// The class of an object, or of the objects of a collection.
    package var element: ClassSchema?

    /// Creates a type.
    package init(type: HelpType, schema: Schema? = nil, element: ClassSchema? = nil) {
        self.type = type
        self.schema = schema
        self.element = element
    }

    private static let byAnnotation = Dictionary(
        HelpCatalog.types.map { ($0.annotation, $0) }, uniquingKeysWith: { first, _ in first })

    /// Returns the entry with a name, which the type can inherit from its parent.
    package func entry(_ name: String) -> HelpEntry? {
        HelpCatalog.entry(name, of: type.name)
    }

    /// All names of the type.
    var names: [String] {
        type.names(isMethod: true) + type.names(isMethod: false)
    }

    /// Returns the type of an annotation in a signature for this receiver.
    ///
    /// `named` is the class that an argument names.
    package func meaning(of annotation: String, named: ClassSchema? = nil) -> KnownType? {
        var text = annotation[...]
        if text.last == "?" { text = text.dropLast() }
        if text == "self" { return self }
        let element = named ?? element
        if text == "T" {
            guard element != nil || type == HelpCatalog.results else { return nil }
            return KnownType(type: HelpCatalog.object, schema: schema, element: element)
        }
        let isOfElement = text.hasSuffix("<T>")
        if isOfElement { text = text.dropLast(3) }
        guard let found = Self.byAnnotation[String(text)] else { return nil }
        return KnownType(type: found, schema: schema, element: isOfElement ? element : nil)
    }

    /// Returns the type of a property of an object with this type.
    package func value(of property: Property) -> KnownType? {
        if property.isBacklinks {
            return KnownType(
                type: HelpCatalog.results, schema: schema,
                element: property.target.flatMap { schema?.find($0) })
        }
        let target = schema?.target(of: property)
        switch property.collection {
        case .list: return KnownType(type: HelpCatalog.list, schema: schema, element: target)
        case .set: return KnownType(type: HelpCatalog.set, schema: schema, element: target)
        case .map: return KnownType(type: HelpCatalog.map, schema: schema, element: target)
        case nil: break
        }
        switch property.type {
        case .object:
            return target.map { KnownType(type: HelpCatalog.object, schema: schema, element: $0) }
        case .date: return KnownType(type: HelpCatalog.date)
        case .decimal: return KnownType(type: HelpCatalog.decimal)
        default: return nil
        }
    }

    /// The type of the elements of a collection of objects.
    package var elements: KnownType? {
        switch type {
        case HelpCatalog.results, HelpCatalog.list, HelpCatalog.set, HelpCatalog.map:
            meaning(of: "T")
        default: nil
        }
    }

    /// Whether the catalog lists all keys of the table, or all fields of the value.
    var isClosed: Bool {
        switch type {
        case HelpCatalog.object: element != nil
        // The keys of these types are data.
        case HelpCatalog.map, HelpCatalog.mixedMap, HelpCatalog.unmanaged, HelpCatalog.projection:
            false
        default: true
        }
    }
}

extension HelpCatalog {
    /// Returns our name for a member that other databases and object mappers have under another name.
    package static func memberOfOtherLibraries(of typeName: String, _ name: String) -> String? {
        let names = typeName == store.name ? storeNames : collectionNames
        guard let ours = names[name] else { return nil }
        // Other names are an index, or a method of another type.
        let isName = ours.allSatisfy { $0.isLetter || $0 == "_" }
        return isName && usage(of: typeName, ours) == nil ? nil : ours
    }

    private static let storeNames = [
        "all": "objects", "begin": "begin_write", "commit": "commit_write", "fetch": "objects",
        "find": "object", "get": "object", "insert": "create", "listen": "observe", "on": "observe",
        "put": "create", "query": "objects", "remove": "delete", "rollback": "cancel_write",
        "save": "add", "select": "objects", "subscribe": "observe", "transact": "write",
        "transaction": "write", "upsert": "create", "watch": "observe",
    ]

    private static let collectionNames = [
        "delete": "store:delete", "find": "where", "for_each": "each", "forEach": "each",
        "foreach": "each", "get": "[1]", "length": "count", "listen": "observe", "on": "observe",
        "order": "sorted", "order_by": "sorted", "push": "append", "query": "where",
        "select": "where", "size": "count", "slice": "limit", "sort_by": "sorted",
        "subscribe": "observe", "take": "limit", "top": "limit", "watch": "observe",
    ]
}
