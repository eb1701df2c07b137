"""Uses a server by the client that openapi-python-client generates: python3 client.py URL"""

import sys
from typing import TypeVar

from lockstep_client import AuthenticatedClient, Client
from lockstep_client.api.accounts import export, list_sessions, log_in, sign_up
from lockstep_client.api.actions import act
from lockstep_client.api.changes import get_changes, get_journal
from lockstep_client.api.defaults import get_default, get_suite, patch_suite, set_default
from lockstep_client.api.favorites import (
    get_favorite,
    list_favorites,
    move_favorite,
    patch_favorite,
    put_favorite,
    remove_favorite,
)
from lockstep_client.api.playlist import list_playlist, patch_playlist_element, put_playlist_element
from lockstep_client.api.scores import get_scores, patch_scores, put_scores_element
from lockstep_client.models import (
    ActBody,
    ActionResults,
    ChangedValues,
    Changes,
    DefaultsActionSet,
    DefaultsActionSetPayload,
    DefaultsState,
    Export,
    FavoritesActionAdd,
    FavoritesActionAddPayload,
    FavoritesActionMove,
    FavoritesActionMovePayload,
    FavoritesPlacedElement,
    FavoritesState,
    GetJournalResponse,
    ListChanges,
    ListReset,
    ListSessionsResponse,
    LogInBody1,
    MapChanges,
    MapReset,
    MergePatch,
    MoveFavoriteBody,
    PatchFavoriteBody,
    PatchPlaylistElementBody,
    PatchScoresBody,
    PlaylistPlacedElement,
    PlaylistState,
    Problem,
    PutFavoriteBody,
    PutPlaylistElementBody,
    PutPlaylistElementBodyData,
    ScoresActionIncrement,
    ScoresActionIncrementPayload,
    ScoresState,
    SignedIn,
    SignUpBody1,
)
from lockstep_client.types import Unset

Expected = TypeVar("Expected")


def expect(kind: type[Expected], value: object) -> Expected:
    """The value, which must have this type."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def changes(client: AuthenticatedClient, since: str | None) -> Changes:
    if since is None:
        return expect(Changes, get_changes.sync(client=client))
    return expect(Changes, get_changes.sync(client=client, since=since))


def main() -> None:
    url = sys.argv[1]
    visitor = Client(url)
    signed_in = expect(
        SignedIn,
        sign_up.sync(client=visitor, body=SignUpBody1(email="ada@example.com", password="correct horse", device="phone")),
    )
    assert signed_in.user.email == "ada@example.com" and signed_in.session.device == "phone"
    client = AuthenticatedClient(url, token=signed_in.token)

    # An error is a Problem, of a route and of any route.
    wrong = expect(Problem, log_in.sync(client=visitor, body=LogInBody1(email="ada@example.com", password="wrong")))
    assert (wrong.status, wrong.type_) == (401, "/problems/unauthorized")
    faulty = expect(Problem, sign_up.sync(client=visitor, body=SignUpBody1(email="ada", password="short")))
    assert faulty.status == 422 and isinstance(faulty.errors, list)
    assert {fault.pointer for fault in faulty.errors} == {"/email", "/password"}
    assert expect(Problem, get_favorite.sync("none", client=client)).status == 404

    # Favorites
    placed = expect(
        FavoritesPlacedElement,
        put_favorite.sync("photo:1", client=client, body=PutFavoriteBody(title="Aurora", data={"width": 400})),
    )
    assert (placed.id, placed.title, placed.data, placed.index) == ("photo:1", "Aurora", {"width": 400}, 0)
    put_favorite.sync("photo/2", client=client, body=PutFavoriteBody())
    moved = put_favorite.sync_detailed("photo/3", client=client, body=PutFavoriteBody(index=0))
    assert moved.status_code == 201 and expect(FavoritesPlacedElement, moved.parsed).index == 0
    listed = expect(FavoritesState, list_favorites.sync(client=client, limit=2))
    assert listed.count == 3 and [item.id for item in listed.items] == ["photo/3", "photo:1"]
    patched = patch_favorite.sync("photo:1", client=client, body=PatchFavoriteBody(title="Borealis"))
    assert expect(FavoritesPlacedElement, patched).title == "Borealis"
    expect(FavoritesPlacedElement, move_favorite.sync("photo:1", client=client, body=MoveFavoriteBody(index=2)))

    # Defaults. The type of a body decides on its media type.
    theme = ChangedValues.from_dict({"theme": {"name": "dark", "size": 12}, "old": 1})
    expect(DefaultsState, patch_suite.sync("standard", client=client, body=theme))
    merged = patch_suite.sync("standard", client=client, body=MergePatch.from_dict({"theme": {"size": 14}}))
    assert expect(DefaultsState, merged).values["theme"] == {"name": "dark", "size": 14}
    whole = patch_suite.sync("standard", client=client, body=ChangedValues.from_dict({"theme": {"size": 16}}))
    assert expect(DefaultsState, whole).values["theme"] == {"size": 16}
    for value in (True, 1.5, "text", [1, None], {"a": None}):
        assert set_default.sync("standard", "any", client=client, body=value) == value
        assert get_default.sync("standard", "any", client=client) == value

    # The feed: whole states, then changes.
    reset = changes(client, None)
    assert reset.reset and reset.since is None
    states = {changeset.collection: changeset for changeset in reset.changesets}
    favorites = expect(ListReset, states["favorites"])
    assert [item.id for item in favorites.items] == ["photo/3", "photo/2", "photo:1"]
    assert favorites.items[2].additional_properties["title"] == "Borealis"
    values = expect(MapReset, states["defaults/standard"]).values
    assert values["theme"] == {"size": 16} and values["old"] == 1

    # Several actions of different modules
    actions = ActBody(
        actions=[
            FavoritesActionAdd(module="favorites", type_="add", payload=FavoritesActionAddPayload(id="photo:4", index=1)),
            FavoritesActionMove(
                module="favorites", type_="move", payload=FavoritesActionMovePayload(id="photo:1", index=0)
            ),
            DefaultsActionSet(module="defaults", type_="set", payload=DefaultsActionSetPayload(key="theme", value="red")),
        ]
    )
    results = expect(ActionResults, act.sync(client=client, body=actions)).results
    assert [result.mutations[0].type_.value for result in results] == ["inserted", "moved", "set"]
    assert remove_favorite.sync_detailed("photo/3", client=client).status_code == 204
    patch_suite.sync("standard", client=client, body=ChangedValues.from_dict({"old": None}))
    patch_favorite.sync("photo/2", client=client, body=PatchFavoriteBody(title="Second"))

    later = changes(client, reset.cursor)
    assert not later.reset and later.since == reset.cursor and later.revision == reset.revision + 4
    changed = {changeset.collection: changeset for changeset in later.changesets}
    of_list = expect(ListChanges, changed["favorites"])
    assert [(place.index, place.id) for place in of_list.deletions] == [(0, "photo/3")]
    assert [(place.index, place.item.id) for place in of_list.insertions] == [(1, "photo:4")]
    assert [(place.from_, place.to, place.id) for place in of_list.moves] == [(1, 2, "photo/2")]
    assert [(place.index, place.new_index, place.item.id) for place in of_list.modifications] == [(1, 2, "photo/2")]
    of_map = expect(MapChanges, changed["defaults/standard"])
    assert of_map.set_.to_dict() == {"theme": "red"} and of_map.removed == ["old"]
    assert changes(client, later.cursor).changesets == []

    # Declared collections have the types of their schemas.
    song = PutPlaylistElementBodyData(song="Aria", stars=5)
    put = put_playlist_element.sync("s1", client=client, body=PutPlaylistElementBody(data=song))
    assert expect(PlaylistPlacedElement, put).index == 0
    bad = PutPlaylistElementBody(data=PutPlaylistElementBodyData(song="Bolero", stars=9))
    refused = expect(Problem, put_playlist_element.sync("s2", client=client, body=bad))
    assert refused.status == 422 and isinstance(refused.errors, list)
    assert [fault.pointer for fault in refused.errors] == ["/data/stars"]
    # A patch may have a part of the data.
    patch_playlist_element.sync("s1", client=client, body=PatchPlaylistElementBody(data={"stars": 4}))
    playlist = expect(PlaylistState, list_playlist.sync(client=client))
    data = playlist.items[0].data
    # Data that was stored before a schema changed may differ, so responses may have any data.
    assert not isinstance(data, Unset) and (data["song"], data["stars"]) == ("Aria", 4)
    assert put_scores_element.sync("level1", client=client, body=300) == 300
    patch_scores.sync(client=client, body=PatchScoresBody.from_dict({"level2": 7}))
    increment = ScoresActionIncrementPayload(key="level1", by=50)
    act.sync(
        client=client,
        body=ActBody(actions=[ScoresActionIncrement(module="scores", type_="increment", payload=increment)]),
    )
    assert expect(ScoresState, get_scores.sync(client=client)).values.to_dict() == {"level1": 350, "level2": 7}

    # The rest of what the server has of a user
    sessions = expect(ListSessionsResponse, list_sessions.sync(client=client)).items
    assert [session.device for session in sessions] == ["phone"] and sessions[0].current
    expect(DefaultsState, get_suite.sync("standard", client=client))
    entries = expect(GetJournalResponse, get_journal.sync(client=client)).entries
    exported = expect(Export, export.sync(client=client))
    assert len(exported.journal) == len(entries) and exported.user.id == signed_in.user.id


main()
