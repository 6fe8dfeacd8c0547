// swift-tools-version: 6.2
import PackageDescription

// A Swift 6 program with typed models and main-actor isolation by default: `swift run` in this folder.
let package = Package(
    name: "kennel",
    dependencies: [
        // In your program: .package(url: …, from: …)
        .package(name: "moonpool", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "kennel",
            dependencies: [.product(name: "MoonpoolScripting", package: "moonpool")],
            swiftSettings: [
                .defaultIsolation(MainActor.self),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ])
    ],
    swiftLanguageModes: [.v6]
)
