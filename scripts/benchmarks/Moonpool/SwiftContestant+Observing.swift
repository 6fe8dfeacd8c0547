import ObjectStore

extension SwiftContestant {
    func insertPets() throws {
        let store = try store()
        let pet = try store.schema.require("Pet")
        let person = try store.schema.require("Person")
        let owners = try store.objects("Person").keys()
        try store.write {
            for key in owners {
                let owner = Value.object(ObjectReference(table: person.table, key: key))
                _ = try store.create(pet, positional: [owner])
            }
        }
    }

    func insertClub() throws {
        let store = try store()
        let person = try store.schema.require("Person")
        let members = try store.objects("Person").keys().map { key in
            Value.object(ObjectReference(table: person.table, key: key))
        }
        try store.write { _ = try store.create("Club", .dictionary(["members": .list(members)])) }
    }

    func observe(
        _ observed: Observed, isRemote: Bool, called: @escaping @Sendable (Int) -> Void
    ) throws -> (any Observation)? {
        let observation = try SwiftObservation(
            Self.configuration(folder, durability), observed, isRemote: isRemote, called: called)
        // This store does not advance with the other process's commits, so it would prevent the pages of its version
        // from being reused.
        if isRemote { try close() }
        return observation
    }

    func updateObserved(_ keys: [Int64], commits: Int) throws -> Double? {
        let store = try store()
        var calls = 0
        let first = try object(keys[0])
        let tokens = try keys.enumerated().map { index, key in
            guard index % 2 == 1 else { return try object(key).observe { _ in calls += 1 } }
            return try store.objects("Person").filtered("age == $1", [.int(Int64(index % 100))])
                .observe(keyPaths: ["age"]) { change in
                    if case .update = change.kind { calls += 1 }
                }
        }
        defer { tokens.forEach { $0.invalidate() } }
        try store.refresh()
        let taken = try seconds {
            for number in 0..<commits {
                try store.write { try first.set("score", .double(Double(number))) }
                try store.refresh()
            }
        }
        guard calls == commits else {
            throw BenchmarkError("Moonpool: \(commits) commits, but \(calls) calls")
        }
        return taken
    }

    func setAge(_ age: Int64, of key: Int64) throws -> Beginning {
        try set("age", .int(age), of: key)
    }

    func setScore(_ score: Double, of key: Int64) throws -> Beginning {
        try set("score", .double(score), of: key)
    }

    func appendToClub(_ key: Int64) throws -> Beginning {
        let member = Value.object(try object(key).reference)
        guard let club = try store().objects("Club").first() else {
            throw BenchmarkError("Moonpool: no club")
        }
        let members = try club.list("members")
        let start = nanoseconds()
        try store().write { try members.append([member]) }
        return { start }
    }

    private func set(_ property: String, _ value: Value, of key: Int64) throws -> Beginning {
        let object = try object(key)
        let start = nanoseconds()
        try store().write { try object.set(property, value) }
        return { start }
    }
}
