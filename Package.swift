// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors where the project checks itself (`scripts/check`), never for people who build it with a newer compiler.
let strict: [SwiftSetting] =
    Context.environment["MOONPOOL_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// Modules without pointers: an unsafe construct in them is a build error.
let safe: [SwiftSetting] =
    strict + [.strictMemorySafety(), .treatWarning("StrictMemorySafety", as: .error)]

/// The few modules that may use pointers: SystemCalls, StructLayouts, LMDBStorage, ColumnStorage, DataFormats,
/// Decimals, RealmFiles, Replication, NATSReplication, PostgresConnections, EventLoops, LuaHost and LineEditing.
let unsafeZone: [SwiftSetting] = strict

/// For modules that wait for people: the first build of `scripts/moonpool` does not optimize them.
///
/// That takes a quarter of their processor time. Packages that others depend on cannot have unsafe flags, so only the
/// script asks for them.
let unoptimized: [SwiftSetting] =
    Context.environment["MOONPOOL_FIRST_BUILD"] == nil ? [] : [.unsafeFlags(["-Onone"])]

let package = Package(
    name: "moonpool",
    products: [
        .library(name: "Moonpool", targets: ["Moonpool"]),
        .library(name: "MoonpoolScripting", targets: ["MoonpoolScripting"]),
        .executable(name: "moonpool", targets: ["MoonpoolTool"]),
        .executable(name: "moonpool-studio", targets: ["StudioTool"]),
    ],
    traits: [
        .trait(name: "Foundation", description: "Date, UUID, Decimal and Data as property types."),
        .trait(
            name: "ServiceLifecycle",
            description: "StorePool as a service that swift-service-lifecycle runs and stops."),
        // The optional products, which a program that embeds scripts can leave out. Without one, an operation that needs
        // it throws `unsupported`. The product Moonpool contains none of them.
        .trait(name: "RealmFiles", description: "Reading Realm files."),
        .trait(name: "NATS", description: "Replication and requests through NATS."),
        .trait(name: "PostgreSQL", description: "Import, export and publication with PostgreSQL."),
        .trait(name: "Studio", description: "The page of the program moonpool-studio."),
        .default(enabledTraits: ["Foundation", "RealmFiles", "NATS", "PostgreSQL", "Studio"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // Fetched only with the trait.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CXXHash", pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
        .systemLibrary(name: "CDecimal", providers: [.apt(["libintelrdfpmath-dev"])]),
        .systemLibrary(
            name: "CLua", pkgConfig: "lua5.4",
            providers: [.apt(["liblua5.4-dev"]), .brew(["lua"])]),
        .systemLibrary(
            name: "CEdit", pkgConfig: "libedit",
            providers: [.apt(["libedit-dev"]), .brew(["libedit"])]),
        .systemLibrary(
            name: "CUV", pkgConfig: "libuv",
            providers: [.apt(["libuv1-dev"]), .brew(["libuv"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),

        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CZstd", pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),

        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),

        .target(
            name: "COptionalLibraries",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(
            name: "Replication",
            dependencies: ["ObjectStore", "Transfer", "DataFormats", "SystemCalls"],
            swiftSettings: unsafeZone),

        // The optional products: `OptionalProducts` registers those whose traits are enabled.
        .target(name: "RealmFiles", dependencies: ["CCrypto"], swiftSettings: unsafeZone),
        .target(
            name: "RealmTransfer",
            dependencies: ["RealmFiles", "Transfer", "DataFormats", "ObjectStore", "SystemCalls"],
            swiftSettings: safe),
        .target(name: "CNATS", dependencies: ["COptionalLibraries"]),
        .target(
            name: "NATSReplication",
            dependencies: [
                "CNATS", "Replication", "ObjectStore", "Transfer", "DataFormats",
                "MemoryAccounts", "SystemCalls",
            ],
            swiftSettings: unsafeZone),
        .target(name: "CPostgres", dependencies: ["COptionalLibraries"]),
        .target(
            name: "PostgresConnections", dependencies: ["CPostgres", "DataFormats"],
            swiftSettings: unsafeZone),
        .target(
            name: "PostgresTransfer",
            dependencies: [
                "PostgresConnections", "Replication", "Transfer", "DataFormats", "ObjectStore",
            ],
            swiftSettings: safe),
        .target(
            name: "OptionalProducts",
            dependencies: [
                "Transfer", "Replication",
                .target(name: "RealmTransfer", condition: .when(traits: ["RealmFiles"])),
                .target(name: "NATSReplication", condition: .when(traits: ["NATS"])),
                .target(name: "PostgresTransfer", condition: .when(traits: ["PostgreSQL"])),
            ],
            swiftSettings: safe),

        .target(name: "SystemCalls", swiftSettings: unsafeZone),
        .target(name: "MemoryAccounts", swiftSettings: safe),
        .target(name: "StructLayouts", swiftSettings: unsafeZone),
        .target(
            name: "LMDBStorage",
            dependencies: ["CLMDB", "CXXHash", "MemoryAccounts", "SystemCalls"],
            swiftSettings: unsafeZone),
        .target(
            name: "ColumnStorage", dependencies: ["LMDBStorage", "MemoryAccounts"],
            swiftSettings: unsafeZone),
        .target(name: "Decimals", dependencies: ["CDecimal"], swiftSettings: unsafeZone),
        .target(
            name: "ObjectStore",
            dependencies: ["ColumnStorage", "Decimals", "MemoryAccounts", "SystemCalls"],
            swiftSettings: safe),

        .target(name: "Charts", swiftSettings: safe + unoptimized),
        .target(name: "CLuaShims", dependencies: ["CLua"]),
        .target(
            name: "CLuaFiles", exclude: ["lua"], cSettings: [.headerSearchPath("lua")]),
        .target(
            name: "LuaHost",
            dependencies: ["CLuaShims", "CLuaFiles", "MemoryAccounts", "SystemCalls"],
            swiftSettings: unsafeZone),
        .target(name: "CFibers"),
        .target(
            name: "EventLoops", dependencies: ["CUV", "CFibers", "SystemCalls"],
            swiftSettings: unsafeZone),
        .target(
            name: "LineEditing", dependencies: ["SystemCalls", "CEdit"],
            swiftSettings: unsafeZone + unoptimized),

        .target(
            name: "DataFormats",
            dependencies: [
                "SystemCalls", "CCrypto", "CSQLite", "CZlib", "CZstd", "MemoryAccounts",
            ],
            swiftSettings: unsafeZone),
        .target(
            name: "Transfer", dependencies: ["SystemCalls", "ObjectStore", "DataFormats"],
            swiftSettings: safe),

        .target(
            name: "Reference", dependencies: ["ObjectStore", "LuaHost", "DataFormats", "Charts"],
            swiftSettings: safe),
        .target(
            name: "StoreBindings",
            dependencies: [
                "SystemCalls",
                "ObjectStore", "LuaHost", "Decimals", "Transfer", "DataFormats", "MemoryAccounts",
                "Charts", "Replication",
            ],
            swiftSettings: safe),
        .target(
            name: "ScriptHost",
            dependencies: [
                "SystemCalls",
                "Reference", "StoreBindings", "ObjectStore", "LuaHost", "EventLoops",
                "DataFormats", "MemoryAccounts", "Replication", "OptionalProducts",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: safe),

        // The public modules. All other modules are visible only inside the package.
        .target(
            name: "Moonpool",
            dependencies: [
                "ObjectStore", "ColumnStorage", "Decimals", "StructLayouts", "SystemCalls",
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: safe),
        .target(
            name: "MoonpoolScripting",
            dependencies: [
                "Moonpool", "ScriptHost", "Reference", "StoreBindings", "ObjectStore", "LuaHost",
                "EventLoops", "MemoryAccounts",
            ],
            swiftSettings: safe),

        .target(
            name: "REPL",
            dependencies: [
                "SystemCalls",
                "ScriptHost", "StoreBindings", "ObjectStore", "LuaHost", "EventLoops",
                "LineEditing", "Reference", "DataFormats", "Charts", "Replication",
            ],
            swiftSettings: safe + unoptimized),
        .executableTarget(
            name: "MoonpoolTool",
            dependencies: [
                "SystemCalls",
                "REPL", "Reference", "ScriptHost", "StoreBindings", "LuaHost", "EventLoops",
                "Replication", "Transfer", "DataFormats", "ObjectStore", "OptionalProducts",
                "LineEditing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: safe + unoptimized),
        .target(
            name: "Studio",
            dependencies: [
                "SystemCalls", "REPL", "ScriptHost", "LuaHost", "EventLoops", "Transfer",
            ],
            resources: [.embedInCode("Page")], swiftSettings: safe),
        .executableTarget(
            name: "StudioTool",
            dependencies: [
                "SystemCalls", "EventLoops", "LuaHost",
                .target(name: "Studio", condition: .when(traits: ["Studio"])),
            ],
            swiftSettings: safe),
        .target(
            name: "TestSupport",
            dependencies: ["ObjectStore", "ScriptHost", "EventLoops", "LuaHost"],
            path: "Tests/TestSupport", swiftSettings: unsafeZone),
        .target(
            name: "TestServers",
            dependencies: [
                "OptionalProducts", "Replication", "Transfer", "PostgresConnections", "CCrypto",
            ],
            path: "Tests/TestServers",
            swiftSettings: unsafeZone),
        .target(name: "TestThreads", path: "Tests/TestThreads", swiftSettings: unsafeZone),
        .testTarget(
            name: "LMDBStorageTests",
            dependencies: ["SystemCalls", "LMDBStorage", "MemoryAccounts", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ColumnStorageTests",
            dependencies: ["ColumnStorage", "LMDBStorage", "MemoryAccounts", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ChartsTests", dependencies: ["Charts", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "DecimalsTests", dependencies: ["Decimals", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ObjectStoreTests",
            dependencies: [
                "ObjectStore", "ColumnStorage", "LMDBStorage", "MemoryAccounts", "TestThreads",
            ],
            exclude: ["Fixtures"], swiftSettings: unsafeZone),
        .testTarget(
            name: "EventLoopsTests", dependencies: ["SystemCalls", "EventLoops", "TestThreads"],
            swiftSettings: unsafeZone),
        .target(
            name: "RealmFixtures",
            dependencies: ["OptionalProducts", "Transfer", "RealmFiles", "CCrypto"],
            path: "Tests/RealmFixtures",
            swiftSettings: unsafeZone),
        .testTarget(
            name: "RealmFilesTests", dependencies: ["RealmFiles", "RealmFixtures", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "DataFormatsTests",
            dependencies: ["DataFormats", "MemoryAccounts", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "TransferTests",
            dependencies: [
                "OptionalProducts", "PostgresConnections", "Transfer", "DataFormats", "ObjectStore",
                "RealmFixtures", "TestServers", "TestThreads",
            ],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ReplicationTests",
            dependencies: [
                "OptionalProducts", "NATSReplication", "PostgresTransfer", "Replication",
                "Transfer", "DataFormats", "ObjectStore", "TestServers",
                "TestThreads",
            ],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ReferenceTests",
            dependencies: [
                "REPL", "Reference", "ObjectStore", "TestSupport", "ScriptHost", "StoreBindings",
                "LuaHost", "TestThreads",
            ],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "LuaHostTests", dependencies: ["LuaHost", "MemoryAccounts", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "StoreBindingsTests",
            dependencies: ["StoreBindings", "Reference", "TestSupport", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "SpecificationTests",
            dependencies: [
                "MoonpoolScripting", "ObjectStore", "ScriptHost", "LuaHost", "TestThreads",
            ],
            exclude: ["vocabulary.lua"], swiftSettings: unsafeZone),
        .testTarget(
            name: "ScriptHostTests",
            dependencies: [
                "SystemCalls",
                "ScriptHost", "Replication", "NATSReplication", "ColumnStorage", "MemoryAccounts",
                "TestSupport",
                "TestThreads", "TestServers",
            ],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "MoonpoolTests", dependencies: ["Moonpool", "MoonpoolScripting", "TestThreads"],
            exclude: ["Moonpool.symbols.txt", "MoonpoolScripting.symbols.txt"],
            // Without upcoming features, like the packages of programs.
            swiftSettings: unsafeZone),
        .testTarget(
            name: "MoonpoolScriptingTests",
            dependencies: [
                "SystemCalls", "MoonpoolScripting", "EventLoops", "TestThreads", "TestServers",
            ],
            swiftSettings: unsafeZone + [.enableUpcomingFeature("MemberImportVisibility")]),
        .testTarget(
            name: "LineEditingTests",
            dependencies: ["SystemCalls", "LineEditing", "TestSupport", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "REPLTests", dependencies: ["REPL", "TestSupport", "TestThreads"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "FuzzTests",
            dependencies: ["Transfer", "DataFormats", "ObjectStore", "TestThreads"],
            exclude: ["Corpus"],
            swiftSettings: unsafeZone),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "SystemCalls",
                "TestSupport", "Reference", "EventLoops", "MoonpoolTool", "StudioTool",
                "RealmFixtures", "TestServers", "TestThreads",
            ],
            exclude: ["PowerLoss/filecalls.c", "Transcripts"],
            swiftSettings: unsafeZone),
    ],
    swiftLanguageModes: [.v6]
)

// The program behind `scripts/bench` is built for that script only.
if Context.environment["MOONPOOL_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "Moonpool", "MoonpoolScripting", "ObjectStore", "ScriptHost", "REPL",
                "EventLoops", "Transfer", "Replication", "NATSReplication", "PostgresConnections",
                "OptionalProducts", "DataFormats",
                "CSQLite",
                "CLMDB",
            ],
            path: "scripts/benchmarks", swiftSettings: unsafeZone))
}

// `MOONPOOL_TESTS=ObjectStoreTests,LuaHostTests` builds only these tests and the targets that they need.
if let names = Context.environment["MOONPOOL_TESTS"] {
    var kept = Set(names.split(separator: ",").map(String.init))
    var isGrowing = true
    while isGrowing {
        let needed = package.targets.filter { kept.contains($0.name) }.flatMap(\.dependencies)
        let found = needed.compactMap { dependency -> String? in
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): name
            default: nil
            }
        }
        isGrowing = !Set(found).isSubset(of: kept)
        kept.formUnion(found)
    }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products = []
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
        let users =
            location.hasSuffix("argument-parser") ? ["MoonpoolTool"] : ["ScriptHost", "Moonpool"]
        return kept.isDisjoint(with: users)
    }
}
