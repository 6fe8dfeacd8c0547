import LuaHost
import ObjectStore

/// The contents of a Moonpool value for the prompt, read without running Lua and without throwing.
package enum Inspection {
    /// A live or frozen object, which may have been deleted.
    case object(LiveObject)
    /// The results of a query.
    case results(Results)
    /// Sections of results.
    case sections(SectionedResults)
    /// A list, a set or a map of an object.
    case collection(any LiveCollection)
    /// The plain values of a collection.
    case values(CollectionValues)
    /// A list or map inside a mixed value.
    case nested(NestedCollection)
    /// A projection of an object.
    case projection(ProjectionHandle)
    /// Projected results.
    case projectedResults(ProjectedResultsHandle)
    /// A store.
    case store(StoreHandle)
    /// The token of an observer.
    case token(TokenHandle)
    /// The printed form of a date, an identifier or data.
    case text(String)
}

extension StoreHandle {
    /// Returns results of this store as a value for scripts.
    package func value(of results: Results) -> LuaValue {
        state.userdata(ResultsHandle(results, self, nil), ResultsHandle.type)
    }
}

extension StoreModule {
    /// Returns the contents of a value, or nil if it is not a Moonpool value.
    package func inspect(_ value: LuaValue) -> Inspection? {
        guard let userdata = value.userdata else { return nil }
        if let value = json.value(userdata) {
            return .text(value == .null ? "null" : value.summary)
        }
        switch userdata.held?.value {
        case .object(let object): return .object(object)
        case .results(let results): return .results(results)
        case .collection(let collection): return .collection(collection)
        case .values(let values): return .values(values)
        case .nested(let nested): return .nested(nested)
        case .store, nil: break
        }
        if let sections = userdata.object(as: SectionsHandle.type) {
            return .sections(sections.sections)
        }
        if let projection = userdata.object(as: ProjectionHandle.type) {
            return .projection(projection)
        }
        if let results = userdata.object(as: ProjectedResultsHandle.type) {
            return .projectedResults(results)
        }
        if let handle = userdata.object(as: StoreHandle.type) { return .store(handle) }
        if let token = userdata.object(as: TokenHandle.type) { return .token(token) }
        if let frozen = userdata.object(as: FrozenSpace.type) { return .text(frozen.summary) }
        if let box = userdata.object(as: ReferenceBox.type) { return .text(box.text) }
        return host?.inspect(userdata).map { .text($0.text) }
    }

    /// Returns the names that a script can use on a Moonpool value: properties first, then methods.
    package func members(of value: LuaValue) -> [LuaMember] {
        guard let userdata = value.userdata else { return [] }
        if let live = userdata.liveObject {
            if let (type, _) = live.stored {
                return type.classSchema.properties.map {
                    LuaMember(name: $0.name, isMethod: false)
                } + ObjectClass.methods.members
            }
            return DateClass.names.map {
                LuaMember(name: $0.name, isMethod: false)
            } + DateClass.methods.members
        }
        if let projection = userdata.object(as: ProjectionHandle.type) {
            return projection.names.map { LuaMember(name: $0, isMethod: false) }
                + userdata.members
        }
        return userdata.members
    }

    /// Returns the name of an API function, such as `store.create`; nil for all others.
    package func name(of function: LuaFunction) -> String? {
        func method<Object>(_ type: LuaClass<Object>) -> String? {
            type.members.first { $0.isMethod && state.function($0.name, of: type) == function }
                .map { "\(type.name).\($0.name)" }
        }
        func live(_ name: String, _ methods: LuaLiveMethods) -> String? {
            methods.members.first { state.function($0.name, of: methods) == function }
                .map { "\(name).\($0.name)" }
        }
        for (key, value) in table.pairs {
            guard let key = key.text else { continue }
            if value.function == function { return "moonpool.\(key)" }
            for (inner, value) in value.table?.pairs ?? [] where value.function == function {
                if let inner = inner.text { return "moonpool.\(key).\(inner)" }
            }
        }
        let names: [String?] = [
            method(StoreHandle.type), live("object", ObjectClass.methods),
            method(ResultsHandle.type), method(ListHandle.type), method(SetHandle.type),
            method(MapHandle.type), method(ValuesHandle.type), method(SectionsHandle.type),
            method(TokenHandle.type), method(ChangeHandle.type), method(MigrationHandle.type),
            method(ProjectionHandle.type), method(ProjectedResultsHandle.type),
            method(PlotHandle.type), method(DecimalBox.type), method(FloatBox.type),
            live("date", DateClass.methods),
            method(FrozenSpace.type),
        ]
        return names.lazy.compactMap(\.self).first
    }
}
