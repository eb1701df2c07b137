"""Parses a server's responses by the models that datamodel-codegen generates, and compares them with
the JSON: python3 models.py URL"""

import json
import sys
from datetime import datetime
from typing import Any, TypeVar

import httpx
import lockstep_models as models
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def is_same(one: Any, other: Any) -> bool:
    """Whether JSON is the same. A time may have more zeros."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        try:
            return datetime.fromisoformat(one) == datetime.fromisoformat(other)
        except ValueError:
            return False
    return bool(one == other and type(one) is type(other))


def parsed(model: type[Model], response: httpx.Response) -> Model:
    """The body as a model, which must have all of the body's members."""
    value = model.model_validate_json(response.content)
    # pydantic warns whenever it encodes a changeset, because one kind stands for two models.
    is_feed = isinstance(value, models.Changes)
    again = json.loads(value.model_dump_json(by_alias=True, exclude_unset=True, warnings=not is_feed))
    if not is_same(again, response.json()):
        raise ValueError(f"{model.__name__} is {again}, but the body was {response.text}")
    return value


def main() -> None:
    client = httpx.Client(base_url=sys.argv[1])
    account = {"email": "grace@example.com", "password": "correct horse", "device": "phone"}
    signed_in = parsed(models.SignedIn, client.post("/v1/users", json=account))
    client.headers["Authorization"] = f"Bearer {signed_in.token}"

    problem = parsed(models.Problem, client.post("/v1/users", json={"email": "grace"}))
    assert problem.status == 422 and problem.errors
    assert parsed(models.Problem, client.get("/nowhere")).status == 404

    # Requests are models too.
    actions = models.ActBody(
        actions=[
            models.Action.model_validate({"module": "favorites", "type": "add", "payload": {"id": f"photo:{number}"}})
            for number in range(3)
        ]
        + [models.Action.model_validate({"module": "defaults", "type": "merge", "payload": {"values": {"a": 1, "b": 2}}})]
    )
    added = actions.actions[0].root
    assert isinstance(added, models.FavoritesAction) and isinstance(added.root, models.FavoritesActionAdd)
    body = actions.model_dump(mode="json", by_alias=True, exclude_unset=True)
    results = parsed(models.ActionResults, client.post("/v1/actions", json=body))
    assert [len(result.mutations) for result in results.results] == [1, 1, 1, 2]

    reset = parsed(models.Changes, client.get("/v1/changes"))
    states = {changeset.root.root.collection: changeset.root.root for changeset in reset.changesets}
    of_list, of_map = states["favorites"], states["defaults/standard"]
    assert isinstance(of_list, models.ListReset) and [item.id for item in of_list.items] == [
        "photo:0",
        "photo:1",
        "photo:2",
    ]
    assert isinstance(of_map, models.MapReset) and of_map.values == {"a": 1, "b": 2}

    client.put("/v1/favorites/photo:3", json={"title": "Aurora", "data": {"tags": ["sky"]}})
    client.patch("/v1/favorites/photo:1", json={"title": "Borealis"})
    client.put("/v1/favorites/photo:2/position", json={"index": 0})
    client.delete("/v1/favorites/photo:0")
    client.patch("/v1/defaults/standard", json={"a": None, "b": [1.5, "two", None]})
    later = parsed(models.Changes, client.get("/v1/changes", params={"since": reset.cursor}))
    changed = {changeset.root.root.collection: changeset.root.root for changeset in later.changesets}
    list_changes, map_changes = changed["favorites"], changed["defaults/standard"]
    assert isinstance(list_changes, models.ListChanges) and isinstance(map_changes, models.MapChanges)
    assert list_changes.deletions and list_changes.insertions and list_changes.moves and list_changes.modifications
    assert map_changes.removed == ["a"] and map_changes.set == {"b": [1.5, "two", None]}

    song = {"title": "Aria", "data": {"song": "Aria", "mood": "calm", "cover": {"url": "https://a.example/1", "width": None}}}
    assert models.PutPlaylistElementBody.model_validate(song).data
    parsed(models.PlaylistPlacedElement, client.put("/v1/playlist/s1", json=song))
    playlist = parsed(models.PlaylistState, client.get("/v1/playlist"))
    # Data that was stored before a schema changed may differ, so responses may have any data.
    data = playlist.items[0].data
    assert data and data["song"] == "Aria"
    problem = parsed(models.Problem, client.put("/v1/playlist/s2", json={"data": {"stars": 9}}))
    assert problem.errors and {fault.pointer for fault in problem.errors} == {"/data/stars", "/data/song"}
    client.patch("/v1/scores", json={"level1": 300})
    assert parsed(models.ScoresState, client.get("/v1/scores")).model_dump(mode="json")["values"] == {"level1": 300}
    parsed(models.FavoritesState, client.get("/v1/favorites"))
    parsed(models.FavoritesPlacedElement, client.get("/v1/favorites/photo:3"))
    parsed(models.DefaultsState, client.get("/v1/defaults/standard"))
    parsed(models.ListSuitesResponse, client.get("/v1/defaults"))
    client.patch("/v1/profile", json={"position": "Admiral"})
    parsed(models.ProfileState, client.get("/v1/profile"))
    parsed(models.User, client.get("/v1/me"))
    assert len(parsed(models.ListSessionsResponse, client.get("/v1/sessions")).items) == 1
    assert parsed(models.GetJournalResponse, client.get("/v1/journal")).entries
    exported = parsed(models.Export, client.get("/v1/me/export"))
    assert len(exported.favorites) == 3 and exported.journal
    parsed(models.ListReactorsResponse, client.get("/v1/reactors"))
    screen = parsed(models.OpenedLoginScreen, client.post("/v1/reactors/login", json={}))
    typed = models.ScreenInput.model_validate({"type": "setUsername", "payload": {"value": "grace"}})
    sent = typed.model_dump(mode="json", by_alias=True, exclude_unset=True)
    parsed(models.ShownScreen, client.post(f"{screen.href}/actions", json=sent))
    parsed(models.GetIndexResponse, client.get("/"))
    parsed(models.ListProblemsResponse, client.get("/problems"))


main()
