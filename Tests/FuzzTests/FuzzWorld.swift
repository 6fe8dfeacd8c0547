import Glibc
import ObjectStore

/// A folder, and stores with properties of every type.
final class FuzzWorld {
    let folder: String

    init() throws {
        var template = Array("/tmp/moonpool-fuzz-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
    }

    deinit {
        guard let directory = opendir(folder) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(folder)/\(name)")
        }
        closedir(directory)
        rmdir(folder)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true),
                Property("name", .string, isIndexed: true),
                Property("text", .string, isOptional: true, isFullText: true),
                Property("age", .int, isOptional: true),
                Property("height", .double, isOptional: true),
                Property("weight", .float, isOptional: true),
                Property("good", .bool, isOptional: true),
                Property("born", .date, isOptional: true),
                Property("photo", .data, isOptional: true),
                Property("code", .uuid, isOptional: true),
                Property("mark", .objectID, isOptional: true),
                Property("price", .decimal, isOptional: true), Property("any", .mixed),
                Property("owner", .object, target: "Person"),
                Property("home", .object, target: "Place"),
                Property("marks", .int, collection: .list),
                Property("friends", .object, collection: .list, target: "Dog"),
                Property("tags", .string, collection: .set),
                Property("notes", .double, isOptional: true, collection: .map),
                Property("fans", .backlinks, origin: .init(className: "Dog", property: "friends")),
            ]),
        ClassSchema(
            "Person",
            [
                Property("name", .string, isPrimary: true),
                Property("dogs", .backlinks, origin: .init(className: "Dog", property: "owner")),
            ]),
        ClassSchema(
            "Place", [Property("city", .string), Property("part", .object, target: "Place")],
            isEmbedded: true),
    ]

    /// An in-memory store; without classes, the input creates them.
    static func memoryStore(_ classes: [ClassSchema]? = FuzzWorld.classes) throws -> Store {
        try Store(
            StoreConfiguration(.memory("fuzz-\(UUIDValue.random())"), schema: classes),
            scheduler: StillScheduler())
    }

    static func fileStore(_ path: String, schema: [ClassSchema]? = nil) throws -> Store {
        try Store(
            StoreConfiguration(.file(path), schema: schema), scheduler: StillScheduler())
    }

    /// Creates and changes some objects in a commit.
    static func commit(_ number: Int, in store: Store) throws {
        try store.write {
            for step in 0..<3 {
                let id = Int64(number * 3 + step)
                var values: ValueMap = [:]
                values["id"] = .int(id)
                values["name"] = .string("dog \(id)")
                values["text"] = .string(String(repeating: "word\(id) ", count: number % 40))
                values["age"] = .int(id * 7 % 19)
                values["height"] = .double(Double(id) / 3)
                values["good"] = .bool(step == 0)
                values["photo"] = .data([UInt8](repeating: 1, count: 40))
                values["marks"] = .list([.int(id), .int(1)])
                values["any"] = .string("any \(id)")
                let dog = try store.create("Dog", .dictionary(values))
                _ = try dog.set("tags").insert(.string("tag \(id % 5)"))
                if let first = try store.objects("Dog").first() {
                    try first.list("friends").append([.object(dog.reference)])
                    try first.set("age", .int(id))
                }
            }
            if number % 5 == 4, let last = try store.objects("Dog").last() {
                try store.delete(last)
            }
        }
    }
}

/// A scheduler that never delivers.
struct StillScheduler: Scheduler, @unchecked Sendable {
    // Unchecked because a thread's handle is only compared.
    private let owner = pthread_self()

    struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    var isOnThread: Bool { pthread_equal(owner, pthread_self()) != 0 }
    var canDeliver: Bool { false }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}
