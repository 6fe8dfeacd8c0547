import LuaHost
import ObjectStore

/// Registers a script's functions as observers.
///
/// Arguments: the function at 2, options at 3.
struct ObserverBinding {
    private let handle: StoreHandle
    private let function: LuaFunction
    private let property: String
    let keyPaths: [String]
    let name: String

    /// Reads function and options from the call of `observe`, or of `observe_value`, whose property comes first.
    init(_ handle: StoreHandle, _ call: borrowing LuaCall) throws {
        self.handle = handle
        let first = call.name == "observe_value" ? 3 : 2
        property = first == 3 ? try call.text(2) : ""
        function = try call.function(first)
        let known = ["keypaths", "name", "on", "debounce", "throttle"]
        let options = try call.options(first + 1, known)
        for option in ["on", "debounce", "throttle"] where options?[option].isTruthy == true {
            throw call.argumentError(
                first + 1, "option '\(option)' is not available in this version")
        }
        name = options?["name"].text ?? ""
        switch options?["keypaths"] ?? .nil {
        case .nil: keyPaths = []
        case .string(let path): keyPaths = [path.description]
        case .table(let table):
            keyPaths = try table.array.map { element in
                guard let path = element.text else {
                    throw call.argumentError(first + 1, "key paths are strings")
                }
                return path
            }
        default: throw call.argumentError(first + 1, "'keypaths' is an array of strings")
        }
    }

    func answer(
        _ subject: String,
        _ register: (@escaping ([LuaValue]) throws -> Void) throws -> NotificationToken
    ) throws -> LuaValue {
        try handle.module.makeToken(name, subject, function, register)
    }

    /// `store:observe(fn)`.
    func observeStore() throws -> LuaValue {
        let (handle, name) = (handle, name)
        return try answer(
            "the store",
            { call in
                try handle.store.observe(name: name) { [weak handle] notification, _ in
                    guard let handle else { return }
                    try call([
                        .text(notification.rawValue),
                        handle.state.userdata(handle, StoreHandle.type),
                    ])
                }
            })
    }

    /// `object:observe(fn)`.
    func observe(_ object: LiveObject) throws -> LuaValue {
        let (handle, name, keyPaths) = (handle, name, keyPaths)
        _ = try object.source.writableStore()
        return try answer(
            "a \(object.classSchema.name)",
            { call in
                try handle.store.observe(object.reference, keyPaths: keyPaths, name: name) {
                    [weak handle] change in
                    guard let handle else { return }
                    try call([.table(ObjectChangeTable(handle).table(change))])
                }
            })
    }

    /// `object:observe_value(property, fn)`.
    func observeValue(_ object: LiveObject) throws -> LuaValue {
        let (handle, name) = (handle, name)
        let property = try object.classSchema.requireProperty(property)
        _ = try object.source.writableStore()
        return try answer(
            "\(property.name) of a \(object.classSchema.name)",
            { call in
                try handle.store.observe(
                    object.reference, keyPaths: property.isSingle ? [] : [property.name], name: name
                ) { [weak handle] change in
                    guard let handle,
                        let entry = change.properties.first(where: { $0.name == property.name })
                    else { return }
                    let table = ObjectChangeTable(handle)
                    try call([
                        table.new(entry, of: object),
                        property.isSingle ? table.old(entry) : .nil,
                    ])
                }
            })
    }

    /// `results:observe(fn)`.
    func observe(_ results: ResultsHandle) throws -> LuaValue {
        let (handle, name, keyPaths) = (handle, name, keyPaths)
        _ = try results.results.source.writableStore()
        return try answer(
            results.subject,
            { call in
                try handle.store.observe(results.results.query, keyPaths: keyPaths, name: name) {
                    [weak handle] change in
                    guard let handle else { return }
                    let made = ChangeHandle(change, results)
                    // What the change can be asked for keeps the version before it in the file.
                    defer { made.end() }
                    try call([handle.state.userdata(made, ChangeHandle.type)])
                }
            })
    }
}
