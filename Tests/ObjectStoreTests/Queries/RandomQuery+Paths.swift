import ObjectStore

extension RandomQuery {
    private func start(_ className: String, _ variable: String?) -> Path {
        Path(
            text: variable ?? "", reached: className, objects: { [$0] },
            values: { [.link(className, $0)] })
    }

    /// Follows one property of the class that a path has reached.
    func follow(_ path: Path, _ name: String) -> Path {
        guard let owner = path.reached,
            let property = world.find(owner).properties.first(where: { $0.name == name })
        else { return path }
        let rows = world.rows[owner]!
        let isToMany = path.isToMany || property.collection != nil
        // A nil link on a path with many values leads to none.
        func values(_ row: Int) -> [PlainValue] {
            path.objects(row).flatMap { $0.map { rows[$0][name]! } ?? (isToMany ? [] : [.null]) }
        }
        var next = path
        next.text += (path.text.isEmpty ? "" : ".") + name
        next.isToMany = isToMany
        next.values = values
        next.type = property.type
        next.isFloat = property.type == .float
        next.reached = property.target
        next.objects =
            property.type == .object
            ? { row in
                values(row).map { if case .link(_, let target) = $0 { target } else { nil } }
            } : path.objects
        return next
    }

    private mutating func followElement(_ path: Path, _ name: String) -> Path {
        let index = number(1...3)
        let bracket = pick(["[\(index)]", "[first]", "[LAST]"])
        let rows = world.rows[path.reached!]!
        func values(_ start: Int) -> [PlainValue] {
            path.objects(start).compactMap { object in
                guard let object else { return path.isToMany ? nil : .null }
                let list = rows[object][name]!
                if bracket == "[LAST]" { return list.last ?? .null }
                let position = bracket == "[first]" ? 0 : index - 1
                return position < list.count ? list[position] : .null
            }
        }
        var next = follow(path, name)
        next.text += bracket
        next.isToMany = path.isToMany
        next.values = values
        if next.type == .object {
            next.objects = { start in
                values(start).map { if case .link(_, let target) = $0 { target } else { nil } }
            }
        }
        return next
    }

    /// Follows the value under a key of a map.
    private mutating func followKey(_ path: Path, _ name: String) -> Path {
        let key = pick(RandomWorld.mapKeys)
        let owner = path.reached!
        let (rows, keys) = (world.rows[owner]!, world.keys[owner]!)
        func values(_ start: Int) -> [PlainValue] {
            path.objects(start).compactMap { object in
                guard let object else { return path.isToMany ? nil : .null }
                let position = keys[object][name]!.firstIndex(of: key)
                return position.map { rows[object][name]![$0] } ?? .null
            }
        }
        var next = follow(path, name)
        next.text += "['\(key)']"
        next.isToMany = path.isToMany
        next.values = values
        if next.type == .object {
            next.objects = { start in
                values(start).map { if case .link(_, let target) = $0 { target } else { nil } }
            }
        }
        return next
    }

    /// Follows the keys of a map.
    private func followKeys(_ path: Path, _ name: String) -> Path {
        let keys = world.keys[path.reached!]!
        var next = follow(path, name)
        next.text += ".@keys"
        next.type = .string
        next.reached = nil
        next.values = { start in
            path.objects(start).flatMap { object in
                object.map { keys[$0][name]!.map(PlainValue.text) } ?? []
            }
        }
        return next
    }

    private mutating func followBack(_ path: Path) -> Path {
        let links = world.links(to: path.reached!)
        guard !links.isEmpty else { return path }
        let link = pick(links)
        let world = world
        var next = path
        next.text += (path.text.isEmpty ? "" : ".") + "@links.\(link.className).\(link.property)"
        next.isToMany = true
        next.reached = link.className
        next.type = .object
        next.objects = { row in
            path.objects(row).flatMap { object -> [Int?] in
                object.map { world.sources(link, $0) } ?? []
            }
        }
        let objects = next.objects
        next.values = { objects($0).map { $0.map { .link(link.className, $0) } ?? .null } }
        return next
    }

    /// A random number of links, lists, elements and backlinks.
    private mutating func way(
        _ className: String, _ variable: String?, maximum: Int = 2, isSingle: Bool = false
    ) -> Path {
        var path = start(className, variable)
        for _ in 0..<number(0...maximum) {
            switch number(0...(isSingle ? 4 : 7)) {
            case 0, 1, 2: path = follow(path, pick(["lx", "ly"]))
            case 3: path = followElement(path, pick(["mx", "my"]))
            case 4: path = followKey(path, "mo")
            case 5, 6: path = follow(path, pick(["mx", "my", "mo"]))
            default: path = followBack(path)
            }
        }
        return path
    }

    private static let singles: [(name: String, type: PropertyType)] = [
        ("i", .int), ("n", .int), ("d", .double), ("f", .double), ("b", .bool), ("s", .string),
        ("t", .date), ("u", .uuid), ("ei", .int), ("ed", .double), ("ef", .double), ("v", .mixed),
    ]

    private static let lists: [(name: String, type: PropertyType)] = [
        ("li", .int), ("ls", .string), ("ld", .double),
    ]

    /// A path to one value.
    mutating func singlePath(
        _ className: String, _ variable: String?, types: [PropertyType]
    ) -> Path {
        let path = way(className, variable, isSingle: true)
        var next = follow(path, pick(Self.singles.filter { types.contains($0.type) }.map(\.name)))
        next.type = next.type == .float ? .double : next.type
        return next
    }

    /// A path to values: a property, an element of a list, or a whole list.
    mutating func valuePath(
        _ className: String, _ variable: String?, types: [PropertyType]? = nil
    ) -> Path {
        let path = way(className, variable)
        let singles = Self.singles.filter { types?.contains($0.type) ?? true }
        let lists = Self.lists.filter { types?.contains($0.type) ?? true }
        var next: Path
        let collections = lists.map(\.name) + (types?.contains(.int) ?? true ? ["si", "mi"] : [])
        if chance(9), types?.contains(.int) ?? true {
            next = followKey(path, "mi")
        } else if chance(9), types?.contains(.string) ?? true {
            next = followKeys(path, pick(["mi", "mo"]))
        } else if !collections.isEmpty, chance(5) {
            next = follow(path, pick(collections))
        } else if !lists.isEmpty, chance(6) {
            next = followElement(path, pick(lists.map(\.name)))
        } else {
            next = follow(path, pick(singles.map(\.name)))
        }
        if next.type == .float { next.type = .double }
        return next
    }

    /// A path that ends in a list of values of one object.
    mutating func listPath(
        _ className: String, _ variable: String?,
        types: [PropertyType] = [.int, .string, .double], isOrdered: Bool = false
    ) -> Path {
        let path = way(className, variable, maximum: 1, isSingle: true)
        let lists = Self.lists.filter { types.contains($0.type) }.map(\.name)
        return follow(
            path, pick(isOrdered || !types.contains(.int) ? lists : lists + ["si", "mi"]))
    }

    /// A path to the objects of a list or of backlinks.
    mutating func collectionPath(_ className: String, _ variable: String?) -> Path {
        let path = way(className, variable, maximum: 1, isSingle: true)
        if chance(3) {
            let back = followBack(path)
            if back.isToMany { return back }
        }
        return follow(path, pick(["mx", "my", "mo"]))
    }

    /// A path that ends in objects.
    mutating func objectPath(_ className: String, _ variable: String?) -> Path {
        let path = way(className, variable, maximum: 1)
        return follow(path, pick(["lx", "ly", "mx", "my", "mo"]))
    }

    /// A constant of a type with its text; a date is an argument.
    mutating func constant(_ type: PropertyType) -> (text: String, value: PlainValue) {
        let number = number(-3...6)
        let value: PlainValue
        switch type {
        case .mixed:
            return constant(pick([.int, .double, .string, .date]))
        case .int where chance(5), .double where chance(5):
            value = chance(2) ? .int(pick(RandomWorld.integers)) : .real(pick(RandomWorld.reals))
            return (argument(value), value)
        case .int where chance(4): value = .real(Double(number) / 2)
        case .int: value = .int(Int64(number))
        case .double where chance(3): value = .int(Int64(number))
        case .double: value = .real(Double(number) / 2)
        case .bool: value = .bool(number > 1)
        case .string: value = .text(pick(RandomWorld.texts))
        case .uuid:
            let identifier = pick(RandomWorld.identifiers)
            return ("uuid(\(identifier))", .bytes(identifier.bytes))
        default:
            let moment = Int64(number) * 86_400_000_000
            arguments.append(.date(Timestamp(microseconds: moment)))
            return ("$\(arguments.count)", .date(moment))
        }
        return (constantText(value), value)
    }

    /// A number as an argument of the predicate.
    private mutating func argument(_ value: PlainValue) -> String {
        switch value {
        case .int(let number): arguments.append(.int(number))
        case .real(let number): arguments.append(.double(number))
        default: preconditionFailure("only numbers are arguments")
        }
        return "$\(arguments.count)"
    }

    func constantText(_ value: PlainValue) -> String {
        switch value {
        case .int(let number): "\(number)"
        case .real(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .text(let text): "'\(text)'"
        default: "nil"
        }
    }
}
