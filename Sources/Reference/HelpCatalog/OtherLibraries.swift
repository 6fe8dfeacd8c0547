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
