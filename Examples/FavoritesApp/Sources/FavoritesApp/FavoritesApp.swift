#if canImport(SwiftUI)
  import FavoritesViews
  import SwiftUI

  @main
  struct FavoritesApp: App {
    var body: some Scene { FavoritesScene() }
  }
#else
  @main
  enum FavoritesApp {
    static func main() {
      print("This app needs SwiftUI. Run FavoritesTerminal instead: it uses the same models.")
    }
  }
#endif
