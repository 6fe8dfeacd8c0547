import Foundation
import Hummingbird
import Moonpool

// Dogs over HTTP, with a stream of changes:
//
//     swift run server zoo.moonpool 8080
//     curl -N http://127.0.0.1:8080/dogs/changes
//     curl -X PUT http://127.0.0.1:8080/dogs/1 -d '{"name": "Rex", "age": 3}'
//
// The stream reports each commit to the file, including commits of other processes: moonpool zoo.moonpool.

struct Dog: Model, Codable, ResponseEncodable {
    var id = 0
    var name = ""
    var age = 0
    static let options = ModelOptions<Dog>(primaryKey: \.id)
}

/// The changes that a page applies to show the rows of the store.
struct DogChanges: Encodable {
    var deletions: [Int] = []
    var insertions: [Int: Dog] = [:]
    var modifications: [Int: Dog] = [:]

    init(_ change: CollectionChange<[Dog]>) {
        let dogs = change.rows
        func rows(_ indexes: some Sequence<Int>) -> [Int: Dog] {
            Dictionary(uniqueKeysWithValues: indexes.map { ($0, dogs[$0]) })
        }
        switch change {
        case .initial: insertions = rows(dogs.indices)
        case .update(_, let deletions, let insertions, let modifications):
            self.deletions = deletions
            self.insertions = rows(insertions)
            self.modifications = rows(modifications)
        }
    }
}

func routes(of pool: StorePool) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("dogs") { request, _ in
        let age = request.uri.queryParameters.get("older", as: Int.self) ?? -1
        return try await pool.read { store in
            try store.all(Dog.self).where { $0.age > age }.sorted(by: \.name).detached()
        }
    }
    router.put("dogs/:id") { request, context in
        let id = try context.parameters.require("id", as: Int.self)
        var dog = try await request.decode(as: Dog.self, context: context)
        dog.id = id
        return try await pool.write { [dog] tx in
            try tx.insert(dog, .updatingModified).detached()
        }
    }
    router.delete("dogs/:id") { _, context in
        let id = try context.parameters.require("id", as: Int.self)
        return try await pool.write { tx -> HTTPResponse.Status in
            guard let dog = try tx.store.find(Dog.self, id) else { return .notFound }
            try tx.delete(dog)
            return .noContent
        }
    }
    // Server-sent events. A slow reader receives fewer and larger changes, and keeps no version of the file.
    router.get("dogs/changes") { _, _ in
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let changes = pool.changes(of: { $0.all(Dog.self).sorted(by: \.name) })
                for try await change in changes.cancelOnGracefulShutdown() {
                    let json = try JSONEncoder().encode(DogChanges(change))
                    let text = String(decoding: json, as: UTF8.self)
                    try await writer.write(ByteBuffer(string: "data: \(text)\n\n"))
                }
                try await writer.finish(nil)
            })
    }
    return router
}

let arguments = CommandLine.arguments
let pool = try StorePool(
    .file(arguments.count > 1 ? arguments[1] : "dogs.moonpool"), models: Dog.self)
let port = arguments.count > 2 ? Int(arguments[2]) ?? 8080 : 8080
let app = Application(
    router: routes(of: pool),
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
    services: [pool])
try await app.runService()
