#if canImport(SwiftUI)
  import FavoritesModel
  import LockstepClient
  import LockstepClientUI
  import SwiftUI

  /// The favorites, and the sheets above them.
  struct FavoritesView: View {
    @Bindable var coordinator: FavoritesCoordinator
    @State private var newTitle = ""
    @State private var failure: String?
    @Environment(\.scenePhase) private var phase

    private var model: FavoritesModel { coordinator.model }

    var body: some View {
      NavigationStack { list }
        .preferredColorScheme(model.theme.value.colorScheme)
        .sheet(item: $coordinator.sheet) { sheet in
          NavigationStack {
            switch sheet {
            case .login(let login): LoginView(coordinator: login)
            case .profile(let profile): ProfileView(coordinator: profile)
            }
          }
        }
        .onChange(of: phase) { if phase == .active { Task { await model.client.tryNow() } } }
        .alert("The change was not kept", isPresented: .constant(failure != nil)) {
          Button("OK") { failure = nil }
        } message: {
          Text(failure ?? "")
        }
    }

    private var list: some View {
      List {
        if let banner = model.banner { BannerView(banner: banner, perform: perform) }
        Section {
          ForEach(model.photos.items) { photo in
            PhotoRow(photo: photo) { title in change { try await model.rename(photo.id, to: title) } }
          }
          .onMove { model.photos.move(fromOffsets: $0, toOffset: $1) }
          .onDelete { offsets in
            let ids = offsets.map { model.photos.items[$0].id }
            change { try await model.delete(ids) }
          }
          TextField("New favorite", text: $newTitle).onSubmit(add)
        }
        Section {
          Picker("Theme", selection: model.theme.binding) {
            ForEach(Theme.allCases, id: \.self) { Text($0.rawValue.capitalized) }
          }
          Button("Profile") { coordinator.open(.profile) }
          Button("Log out") { change { try await model.client.logOut() } }
        }
      }
      .navigationTitle("Favorites")
    }

    private func add() {
      guard !newTitle.isEmpty else { return }
      let title = newTitle
      newTitle = ""
      change { try await model.add(titled: title) }
    }

    private func perform(_ remedy: Banner.Remedy) {
      switch remedy {
      case .tryNow: Task { await model.client.tryNow() }
      case .logIn: coordinator.open(.login)
      }
    }

    private func change(_ body: @escaping @MainActor () async throws -> Void) {
      Task {
        do { try await body() } catch { failure = error.sentence }
      }
    }
  }

  /// A row with a title that can be changed, and a counter that all devices share.
  private struct PhotoRow: View {
    let photo: Photo
    let rename: (String) -> Void
    @State private var title = ""
    @Synced private var openings: Int

    init(photo: Photo, rename: @escaping (String) -> Void) {
      (self.photo, self.rename) = (photo, rename)
      _openings = Synced(wrappedValue: 0, Photo.counter(of: photo.id))
    }

    var body: some View {
      HStack {
        TextField("Title", text: $title)
          .onSubmit { if title != photo.name { rename(title) } }
          .onChange(of: photo.name, initial: true) { title = photo.name }
        if openings > 0 { Text("\(openings)").foregroundStyle(.secondary) }
      }
    }
  }

  private struct BannerView: View {
    let banner: Banner
    let perform: (Banner.Remedy) -> Void

    var body: some View {
      HStack {
        Text(banner.text).font(.callout)
        Spacer()
        switch banner.remedy {
        case .tryNow: Button("Try now") { perform(.tryNow) }
        case .logIn: Button("Log in") { perform(.logIn) }
        case nil: EmptyView()
        }
      }
    }
  }

  extension Theme {
    fileprivate var colorScheme: ColorScheme? {
      switch self {
      case .system: nil
      case .light: .light
      case .dark: .dark
      }
    }
  }
#endif
