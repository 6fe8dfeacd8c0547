import FoundationEssentials
import Moonpool
import Synchronization

// The Swift examples of Realm's documentation for notifications, objects and writes, with Moonpool.

enum RealmExamples {
    /// The output of the examples.
    static let printed = Mutex<[String]>([])
    static func print(_ items: Any...) {
        let line = items.map { "\($0)" }.joined(separator: " ")
        printed.withLock { $0.append(line) }
    }

    // MARK: Models

    struct File: Model {
        var remoteUrl = ""
        var localUrl = ""
    }
    struct Dog: Model {
        var name = ""
        var favoriteToy = ""
        var age: Int?
        var isPuppy = false
        var siblings: [Link<Dog>] = []
        var owners = Backlinks(\Person.dogs)
    }
    struct Person: Model {
        var firstName = ""
        var lastName = ""
        var dogs: [Link<Dog>] = []
        var friends: Set<Link<Person>> = []
        var notes: [String: String] = [:]
        var pets: [String: Link<Dog>?] = [:]
    }
    struct Todo: Model {
        var _id = ObjectIDValue.generate()
        var name = ""
        var owner = ""
        var status = ""
        static let options = ModelOptions<Todo>(primaryKey: \._id)
    }
    struct DemoObject: Model {
        var title = ""
        var date = Date()
    }
    /// The types of `RLMObject`: text, integers, floats, booleans, dates, data, optional numbers, links and lists of
    /// links.
    struct Everything: Model {
        var id = 0
        var text = ""
        var small: Int16 = 0
        var single: Float = 0
        var double = 0.0
        var flag = false
        var date = Date()
        var data = Data()
        var optionalInt: Int?
        var optionalFloat: Float?
        var optionalDouble: Double?
        var optionalBool: Bool?
        var one: Link<Dog>?
        var many: [Link<Dog>] = []
        var ignored = 0
        static let options = ModelOptions<Everything>(
            primaryKey: \.id, indexes: [\.text], ignored: [\.ignored])
    }

    // MARK: Notifications on a background thread

    /// An actor with its own thread, which runs closures there.
    actor BackgroundWorker {
        private let thread = ThreadExecutor(name: "BackgroundWorker")
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        func start(_ block: @Sendable (isolated BackgroundWorker) throws -> Void) rethrows {
            try block(self)
        }
        nonisolated func stop() { thread.shutdown() }
    }

    /// An actor with its own thread, which runs its store, its observers and its methods.
    actor CacheWorker {
        private let thread = ThreadExecutor(name: "CacheWorker")
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        private var token: NotificationToken?
        private(set) var downloads: [String] = []

        func start() async throws {
            let store = try Store(.memory("files"), models: File.self)
            let files = store.all(File.self).where { $0.localUrl == "" }
            token = try await files.observe(on: self) { worker, change in
                guard case .success(.update(let files, _, let insertions, _)) = change else {
                    return
                }
                for index in insertions { worker.download(files[index]) }
            }
        }
        private func download(_ file: Frozen<File>) {
            print("download: \(file.remoteUrl)")
            downloads.append(file.remoteUrl)
        }
        /// The same as a loop, which ends with the task.
        func run() async throws {
            let store = try Store(.memory("files"), models: File.self)
            for try await change in store.all(File.self).where({ $0.localUrl == "" }).changes() {
                guard case .update(let files, _, let insertions, _) = change else { continue }
                for index in insertions {
                    let file = files[index].objectID
                    try await store.write { _ in store[file]?.localUrl = "file:///cache" }
                }
            }
        }
        deinit { token?.invalidate() }
    }
    struct SomeAPI {
        func add() async throws {
            let store = try Store(.memory("files"), models: File.self)
            try await store.write { tx in
                try tx.insert(File(remoteUrl: "http://rx-marin.com/images/avatar.jpg"))
            }
        }
    }

    // MARK: React to changes

    @MainActor final class ViewController {
        let store: Store
        var tokens: [NotificationToken] = []
        var text = ""
        init() throws {
            store = try Store(
                .memory("react"), models: Dog.self, Person.self, Todo.self, DemoObject.self,
                Everything.self)
        }
        func updateUI() {}

        // Register a Realm change listener
        func observeStore() throws {
            let token = try store.observe { [weak self] notification, store in self?.updateUI() }
            tokens.append(token)
            token.invalidate()
        }

        // Register a collection change listener
        func observeCollection() throws {
            let results = store.all(Dog.self).where { $0.age > 5 }
            tokens.append(
                try results.observe { [weak self] changes in
                    guard let self else { return }
                    switch changes {
                    case .success(.initial): reloadData()
                    case .success(.update(_, let deletions, let insertions, let modifications)):
                        delete(deletions)
                        insert(insertions)
                        reload(modifications)
                    case .failure(let error): fatalError("\(error)")
                    }
                })
        }
        func reloadData() {}
        func delete(_ rows: [Int]) {}
        func insert(_ rows: [Int]) {}
        func reload(_ rows: [Int]) {}

        // Register an object change listener
        func observeObject() throws {
            let dog = try store.writeNow { tx in try tx.insert(Dog(name: "Max")) }
            tokens.append(
                try dog.observe { change in
                    switch change {
                    case .success(.change(let object, let properties)):
                        for property in properties {
                            print(
                                "Property '\(property.name)' of object \(object) changed to '\(property.new)'"
                            )
                        }
                    case .success(.deleted): print("The object was deleted.")
                    case .failure(let error): print("An error occurred: \(error)")
                    }
                })
            try store.writeNow { _ in dog.name = "Wolfie" }
        }

        // Register a key path change listener
        func observeKeyPaths() throws {
            let dog = try store.writeNow { tx in
                try tx.insert(Dog(name: "Max", favoriteToy: "Ball", age: 2))
            }
            tokens.append(try dog.observe(\.favoriteToy, \.age) { print($0) })
            tokens.append(try dog.observe(\.siblings.any.name) { print($0) })
            try store.writeNow { _ in dog.favoriteToy = "Frisbee" }
            try store.writeNow { _ in dog.name = "Maxamillion" }
        }

        // Collections: backlinks, lists, maps, sets, results
        func observeCollections(_ ann: Live<Person>, _ dog: Live<Dog>) throws {
            tokens += [
                try dog.owners.observe(\.firstName) { print($0) },
                try ann.dogs.observe(\.name) { print($0) },
                try ann.pets.observe(\.name) {
                    if case .success(.update(_, let deleted, let inserted, let modified)) = $0 {
                        print(deleted, inserted, modified)
                    }
                },
                try ann.notes.observe { print($0) },
                try ann.friends.observe(\.firstName) { print($0) },
            ]
        }

        // Write silently
        func writeSilently() throws {
            let token = try store.observe { _, _ in }
            try store.writeNow(withoutNotifying: [token]) { tx in try tx.insert(Dog()) }
            token.invalidate()
        }

        // Stop watching for changes
        func stopWatching() throws {
            let token = try store.observe { _, _ in }
            token.invalidate()
        }

        // Key-value observing
        func keyValues(_ dog: Live<Dog>) async throws {
            for try await age in dog.values(of: \.age) { text = "\(age ?? 0)" }
        }

        // React to changes on a different actor
        func differentActor() async throws {
            let background = BackgroundActor()
            try await store.write { tx in
                try tx.insert(
                    Todo(name: "Arrive safely in Bree", owner: "Merry", status: "In Progress"))
            }
            let todos = store.all(Todo.self)
            let token = try await todos.observe(on: background) { actor, changes in
                print("A change occurred on actor: \(actor)")
                switch changes {
                case .success(.initial(let todos)):
                    print("The initial value of the changed object was: \(todos.count)")
                case .success(.update(_, let deletions, let insertions, let modifications)):
                    if !deletions.isEmpty {
                        print("An object was deleted")
                    } else if !insertions.isEmpty {
                        print("An object was inserted")
                    } else if !modifications.isEmpty {
                        print("An object was modified")
                    }
                case .failure(let error): print("An error occurred: \(error)")
                }
            }
            let todo = todos.where { $0.name == "Arrive safely in Bree" }.first!
            try await background.deleteTodo(todo.objectID)
            token.invalidate()
        }

        // React to changes to a class projection
        func projections() throws {
            let person = store.all(Person.self).projected(PersonProjection.self).first {
                $0.firstName == "Jason"
            }!
            tokens.append(
                try person.observe(\.firstName) { change in
                    switch change {
                    case .success(.change(let object, let properties)):
                        for property in properties {
                            print(
                                "Property '\(property.name)' of object \(object) changed to '\(property.new)'"
                            )
                        }
                    case .success(.deleted): print("The object was deleted.")
                    case .failure(let error): print("An error occurred: \(error)")
                    }
                })
            try store.writeNow { _ in person.firstName = "David" }
        }

        // Perform writes inside of notifications
        func writeFromHandler(_ dog: Live<Dog>) throws {
            tokens.append(
                try dog.observe(\.age) { change in
                    guard case .success(.change) = change else { return }
                    dog.objectStore.enqueueWrite { _ in dog.isPuppy = (dog.age ?? 0) < 2 }
                })
        }
    }
    actor BackgroundActor {
        func deleteTodo(_ id: ObjectID<Todo>) throws {
            let store = try Store(.memory("react"), models: Todo.self)
            try store.writeNow { tx in
                guard let todo = store[id] else { return }
                try tx.delete(todo)
            }
        }
    }
    struct PersonProjection: Projection {
        var firstName: String
        var friendCount: Int
        static let projection = ProjectionMap(
            of: Person.self, PersonProjection.init, \.firstName, \.friends.count)
    }

    // Updating a table view based on notifications
    @MainActor final class TableViewController {
        let store: Store
        let results: Results<DemoObject>
        var token: NotificationToken!
        init(_ store: Store) throws {
            self.store = store
            results = store.all(DemoObject.self).sorted(by: \.date)
            token = try results.observe { [weak self] _ in self?.reload() }
        }
        func reload() {}
        func numberOfRows() -> Int { results.count }
        func title(at row: Int) -> String { results[row].title }
        func delete(at index: Int) throws {
            try store.writeNow { tx in try tx.delete(results[index]) }
        }
    }

    // MARK: Objects

    actor Objects {
        func run() async throws {
            let store = try Store(
                .memory("objects"), models: Everything.self, Dog.self, Person.self)
            // Creating and updating; nested values
            try await store.write { tx in
                try tx.insert(Everything(id: 1, text: "Rex", many: [.new(Dog(name: "Max"))]))
                try tx.insert(Everything(id: 1, text: "Rex 2"), .updating)
                try tx.insert(Everything(id: 1, text: "Rex 2"), .updatingModified)
            }
            // Queries
            let all = store.all(Everything.self)
            print(all.count, try all.where("text = $1 AND optionalInt > $2", "Rex", 5).count)
            let rex = try store.find(Everything.self, 1)!
            // State, equality, thread-safe use
            print(rex.isValid, rex == all.first!, rex.objectID)
            // Freeze and thaw
            let frozen = try rex.freeze()
            print(frozen.text, try frozen.thaw(in: store) == rex)
            Task.detached { print(frozen.many.map(\.name)) }
            let reference = try ThreadSafeReference(to: all)
            Task.detached {
                let other = try Store(.memory("objects"), models: Everything.self)
                print(try other.resolve(reference)?.count ?? 0)
            }
            // Deleting
            try await store.write { tx in
                try tx.delete(rex)
                try tx.deleteAll(Dog.self)
            }
            print(rex.isValid)
        }
    }

    // MARK: Write transactions

    actor Writes {
        struct Oops: Error {}
        func run() async throws {
            let store = try Store(.memory("writes"), models: Dog.self, Person.self)
            do {
                try await store.write { tx in
                    try tx.insert(Dog(name: "Rex"))
                    throw Oops()
                }
            } catch is Oops {
                print(store.all(Dog.self).count)
            }
            do {
                try await store.write { tx in try tx.insert(Dog(name: "Rex")) }
            } catch let error as StoreError where error.code == .duplicateKey {
                print(error.message)
            }
        }
    }

}

private typealias DemoObject = RealmExamples.DemoObject

extension RealmExamples.TableViewController {
    // Without a notification
    func deleteDirectly(at index: Int) throws {
        try store.writeNow(withoutNotifying: [token]) { tx in try tx.delete(results[index]) }
    }
    // Force a refresh after a write
    func deleteAndRefresh(at index: Int) throws {
        try store.writeNow { tx in try tx.delete(results[index]) }
        try store.refresh()
    }
    // Perform the write on a background thread
    func deleteInBackground(at index: Int) {
        let id = results[index].objectID
        Task.detached {
            let store = try Store(.memory("react"), models: DemoObject.self)
            try await store.write { tx in
                if let object = store[id] { try tx.delete(object) }
            }
        }
    }
}
