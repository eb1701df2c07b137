#if canImport(SwiftUI)
  import FavoritesModel
  import Foundation
  import LockstepClient
  import LockstepClientUI
  import LockstepReactor
  import SwiftUI

  /// The windows of the app.
  public struct FavoritesScene: Scene {
    private let start: Result<AppCoordinator, any Error>

    /// Scenes of an app for the server at a URL.
    @MainActor
    public init(server: String = Self.server) {
      start = Result {
        guard let server = URL(string: server) else {
          throw ClientFailure("\(server) is not a URL.", title: "The address of the server is not valid")
        }
        let folder = URL.applicationSupportDirectory.appending(path: "Favorites")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "state.db").path
        let client = try LockstepClient(server, store: .file(file), credentials: Self.credentials(folder))
        return CoordinatorFactory(AppComponents(client: client)).app()
      }
    }

    /// A program that Xcode starts on the Mac from a package has no right to use the keychain.
    private static func credentials(_ folder: URL) -> any ClientCredentials {
      #if os(macOS)
        FileCredentials(folder.appending(path: "token").path)
      #else
        KeychainCredentials(service: "favorites-app")
      #endif
    }

    /// `LOCKSTEP_SERVER` of the scheme in Xcode, or a server on this Mac.
    public static var server: String {
      ProcessInfo.processInfo.environment["LOCKSTEP_SERVER"] ?? "http://127.0.0.1:8080"
    }

    /// The windows.
    public var body: some Scene {
      WindowGroup {
        switch start {
        case .success(let coordinator):
          AppView(coordinator: coordinator)
            .environment(\.lockstep, coordinator.client)
            .task { await coordinator.start() }
        case .failure(let error): Text("The app cannot start. \(error.sentence)").padding()
        }
      }
    }
  }

  /// The part of the app that runs.
  private struct AppView: View {
    let coordinator: AppCoordinator

    var body: some View {
      switch coordinator.child {
      case .login(let login): NavigationStack { LoginView(coordinator: login) }
      case .favorites(let favorites): FavoritesView(coordinator: favorites)
      case nil: ProgressView()
      }
    }
  }
#endif
