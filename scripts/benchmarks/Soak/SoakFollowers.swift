import ObjectStore

/// The hundred observers of the soak test, by kind.
enum SoakFollowers {
    static func make(_ store: Store, _ counter: SoakCounter) throws -> [any SoakFollower] {
        let people = try store.objects("Person")
        var followers: [any SoakFollower] = []
        for number in 0..<20 {
            let person = try SoakWorld.person(Int64(number), in: store)
            followers.append(try ObjectFollower("person \(number)", person, [], counter))
        }
        for number in 20..<30 {
            let person = try SoakWorld.person(Int64(number), in: store)
            followers.append(
                try ObjectFollower("score of person \(number)", person, ["score"], counter))
        }
        for number in 0..<15 {
            let older = try people.filtered("age > $1", [.int(Int64(number * 6))])
            followers.append(try follow("filtered \(number)", older, counter))
        }
        for number in 0..<10 {
            let older = try people.filtered("age > $1", [.int(Int64(number * 10))])
            let sorted = try older.sorted([("score", number % 2 == 0), ("name", true)])
            followers.append(try follow("sorted \(number)", sorted, counter))
        }
        for number in 0..<5 {
            let best = try people.sorted([("score", true)]).limited(to: 10 << number)
            followers.append(try follow("the best \(10 << number)", best, counter))
        }
        for path in ["age", "name", "score"] {
            followers.append(try follow("distinct \(path)", people.distinct([path]), counter))
            let sections = try people.grouped(by: path)
            followers.append(try SectionsFollower("sections by \(path)", sections, counter))
        }
        for number in 0..<10 {
            let text = "owner.age > $1 and owner.score < 900"
            let pets = try store.objects("Pet").filtered(text, [.int(Int64(number * 9))])
            followers.append(try follow("through a link \(number)", pets, counter))
        }
        followers += try lists(store, counter)
        for number in 0..<4 {
            let person = try SoakWorld.person(Int64(number), in: store)
            let (tags, notes) = (try person.set("tags"), try person.map("notes"))
            followers.append(try follow("set \(number)", tags, tags.values, counter))
            followers.append(try follow("map \(number)", notes, notes.values, counter))
        }
        guard followers.count == 100 else {
            throw BenchmarkError("soak: \(followers.count) observers")
        }
        return followers
    }

    private static func lists(
        _ store: Store, _ counter: SoakCounter
    ) throws -> [any SoakFollower] {
        let club = try SoakWorld.only("Club", in: store)
        let (members, numbers) = (try club.list("members"), try club.list("numbers"))
        var followers: [any SoakFollower] = []
        for number in 0..<4 {
            followers.append(try follow("list \(number)", members, members.values, counter))
            if number < 2 {
                followers.append(try follow("numbers \(number)", numbers, numbers.values, counter))
            } else {
                let person = try SoakWorld.person(Int64(number), in: store)
                let pets = try Results(
                    backlinks: person.classSchema.requireProperty("pets"), of: person)
                followers.append(try follow("backlinks \(number)", pets, counter))
            }
        }
        for number in 0..<4 {
            let older = try Results(members).filtered("age > $1", [.int(Int64(number * 20))])
            followers.append(try follow("filtered list \(number)", older, counter))
            let sorted = try older.sorted([("score", true)])
            followers.append(try follow("sorted list \(number)", sorted, counter))
        }
        return followers
    }

    private static func follow(
        _ title: String, _ results: Results, _ counter: SoakCounter
    ) throws -> CollectionFollower {
        let table = results.query.table
        return try CollectionFollower(
            title,
            read: {
                try results.keys().map { .object(ObjectReference(table: table, key: $0)) }
            }, counter
        ) { handler in try results.observe(handler) }
    }

    private static func follow(
        _ title: String, _ collection: some LiveCollection,
        _ read: @escaping () throws -> [Value], _ counter: SoakCounter
    ) throws -> CollectionFollower {
        try CollectionFollower(title, read: read, counter) { handler in
            try collection.observe(handler)
        }
    }
}
