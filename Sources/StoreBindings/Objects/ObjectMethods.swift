import LuaHost
import ObjectStore

extension ObjectClass {
    /// The methods of every live object.
    static let methods = LuaLiveMethods(
        methods: [
            LuaMethod("update") { object, call in
                let (type, live) = try stored(object, call)
                let values = try ValueBridge(type.handle, type.frozen)
                    .named(call.table(2), of: type.classSchema)
                _ = try type.source.writableStore()
                try type.handle.store.update(live, values)
                try type.handle.ignoredProperties.set(
                    call.table(2), for: call[1], in: type.classSchema, type.handle)
                return call.answerArgument(1)
            },
            LuaMethod("is_valid") { object, call in
                call.answer(.boolean(try stored(object, call).live.isValid))
            },
            LuaMethod("is_frozen") { object, call in
                call.answer(.boolean(try stored(object, call).type.frozen != nil))
            },
            LuaMethod("freeze") { object, call in
                let (type, live) = try stored(object, call)
                if type.frozen != nil { return call.answerArgument(1) }
                try type.checkPresent(live.key)
                return call.answer(try type.handle.frozenSpace().userdata(of: live))
            },
            LuaMethod("thaw") { object, call in
                let (type, live) = try stored(object, call)
                if type.frozen == nil, live.isValid { return call.answerArgument(1) }
                guard let thawed = try type.handle.store.thaw(live) else {
                    return call.answer(.nil)
                }
                return call.answer(type.handle.userdata(thawed.reference))
            },
            LuaMethod("to_table") { object, call in
                let (type, live) = try stored(object, call)
                let depth = call.isNil(2) ? 1 : Int(clamping: try call.integer(2))
                try type.checkPresent(live.key)
                var copy = TableCopy(type.handle, type.frozen)
                return call.answer(
                    .table(try copy.table(live, depth)))
            },
            LuaMethod("project") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                let shape = try ProjectionShape(
                    call, class: type.classSchema, schema: type.source.view.schema)
                return call.answer(
                    ProjectionHandle(shape, of: live.reference, in: type.handle, at: type.frozen),
                    ProjectionHandle.type)
            },
            LuaMethod("get") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                let path = try ProjectedPath(
                    call.text(2), class: type.classSchema, schema: type.source.view.schema)
                return call.answer(
                    try ProjectionShape.value(of: path, live, type.handle, type.frozen))
            },
            LuaMethod("observe") { object, call in
                let (type, live) = try stored(object, call)
                return call.answer(try ObserverBinding(type.handle, call).observe(live))
            },
            LuaMethod("observe_value") { object, call in
                let (type, live) = try stored(object, call)
                return call.answer(try ObserverBinding(type.handle, call).observeValue(live))
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { object, call in
                let (type, live) = try stored(object, call)
                return try call.answer(.text(type.describe(live)))
            },
            LuaMethod("__pairs") { object, call in
                let (type, live) = try stored(object, call)
                try type.checkPresent(live.key)
                return try call.answerPairs(of: type.classSchema.properties.map(\.name))
            },
        ])

    private static func stored(
        _ object: LuaLiveObject, _ call: borrowing LuaCall
    ) throws -> (type: ObjectClass, live: LiveObject) {
        guard let (type, live) = object.stored else { throw call.typeError(1, "object") }
        return (type, live)
    }

    /// Returns the object on one line, without following links: `Dog { id = 1, name = "Rex", … }`.
    func describe(_ object: LiveObject) throws -> String {
        let name = classSchema.name
        if !object.source.isOpen { return "\(name) (of a closed store)" }
        guard object.isValid else { return "\(name) (deleted)" }
        let parts = try classSchema.properties.filter { !$0.isBacklinks }.map { property in
            try "\(property.name) = \(describe(property, of: object))"
        }
        return parts.isEmpty ? "\(name) {}" : "\(name) { \(parts.joined(separator: ", ")) }"
    }

    private func describe(_ property: Property, of object: LiveObject) throws -> String {
        if property.collection != nil {
            object.source.noteRead(object.classSchema, object.key, property.column)
            let count = try object.source.view.table(classSchema).listCount(
                property.column, object.key)
            return "\(property.typeName)(\(count))"
        }
        guard let value = try? object.value(property.name) else { return "?" }
        guard case .object(let reference) = value,
            let target = source.view.schema.find(table: reference.table)
        else { return value.summary }
        guard let primary = target.primaryKey,
            let key = try? source.view.value(primary, of: reference.key, in: target)
        else { return target.name }
        return "\(target.name)(\(key.summary))"
    }
}

extension LuaCall {
    /// Answers `__pairs` for named values of the first argument.
    ///
    /// The loop iterates over these names, and reads each value when it reaches the name.
    func answerPairs(of names: [String]) throws -> LuaAnswer {
        let source = self[1]
        var next = 0
        let step = state.makeFunction("next") { call in
            guard next < names.count else { return call.answer(.nil) }
            next += 1
            let name = LuaValue.text(names[next - 1])
            return call.answer(name, try call.state.index(source, name))
        }
        return try answer([.function(step), source, .nil])
    }
}
