// swift-tools-version: 6.2
import PackageDescription

// A web server over a store: `swift run` in this folder.
let package = Package(
    name: "server",
    dependencies: [
        // In your program: .package(url: …, from: …, traits: [.defaults, "ServiceLifecycle"])
        .package(name: "moonpool", path: "../..", traits: [.defaults, "ServiceLifecycle"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0"),
    ],
    targets: [
        .executableTarget(
            name: "server",
            dependencies: [
                .product(name: "Moonpool", package: "moonpool"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
