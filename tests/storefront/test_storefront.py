"""What a visitor sees of an edit: the old page until the pipeline ran, then the new one, and nothing else rebuilt."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from stack.content import slug
from stack.shop_content import coffees, cups
from stack.shop_content import shop as content
from stack.waiting import wait_until

APPLIED_SECONDS = 60

BOTH_ROUTERS = pytest.mark.parametrize(
    "document, path",
    [("moka", "/coffee/moka"), ("grinding", "/journal/grinding")],
    ids=["pages-router", "app-router"],
)


def slugs_of(documents) -> list[str]:
    """The paths of documents."""
    return ["/" + one["slug"]["current"] for one in documents if "slug" in one]


def sent(stack, edit):
    """Sends a webhook held back, and waits for the pipeline; on a busy machine it may purge twice."""
    stack.editor.send(edit)
    stack.wait_state(edit, "applied", APPLIED_SECONDS)
    stack.wait_repeated()
    return edit


def graphql_title(stack, path):
    """What GraphQL answers of a path, and whether it answered from its cache."""
    query = "query ($slug: String!) { routing(slug: $slug) { page { _id title } } }"
    answer = requests.post(
        f"{stack.stellate.url}/graphql", json={"query": query, "variables": {"slug": path}}, timeout=10
    ).json()
    return answer["data"]["routing"]["page"]["title"], answer["extensions"]["responseCache"]["hit"]


def test_the_rebuild_gave_every_page_a_route_and_a_second_one_writes_nothing(stack, shop):
    paths = slugs_of(content())
    assert {route["slug"] for route in stack.ledger.routes()} >= set(paths)
    assert set(shop.visit(*paths).values()) == {200}
    again = stack.rebuild("once more")
    assert (again["written"], again["handed_over"], again["problems"]) == (0, 0, 0)


@BOTH_ROUTERS
def test_an_edit_is_seen_when_the_pipeline_ran_and_not_before(stack, shop, browser, document, path):
    graphql_title(stack, path)
    old = browser.open(shop.address(path))
    browser.keep(f"edit-{document}-1-before")
    edit = stack.edit(document, title=f"{old.title}, edited", send=False)
    assert browser.open(shop.address(path)) == old, "from the cache, though Sanity has the edit"
    assert graphql_title(stack, path) == (old.title, True), "from the inner cache too"
    browser.keep(f"edit-{document}-2-published-not-purged")

    sent(stack, edit)
    new = browser.open(shop.address(path))
    browser.keep(f"edit-{document}-3-after")
    assert new.title == f"{old.title}, edited" and new.count > old.count
    assert graphql_title(stack, path)[0] == new.title
    assert browser.open(shop.address(path)) == new, "and from the cache again"


def test_a_banner_of_fifty_pages_leaves_fifty_others_alone(stack, shop, browser):
    with_banner, others = slugs_of(coffees()), slugs_of(cups())
    assert (len(with_banner), len(others)) == (50, 50)
    before = shop.counts()
    sent(stack, stack.edit("banner-sale", title="Spring sale", send=False))

    browser.open(shop.url)
    wait_until(lambda: browser.texts(".fresh"), 10, "the overview shows what was rebuilt")
    browser.keep("banner-overview", height=2060)
    for path in with_banner:
        seen = browser.open(shop.address(path))
        assert (seen.slug, seen.banner) == (path, "Spring sale") and seen.count > before[path]
    browser.keep("banner-last-page")
    for path in others:
        seen = browser.open(shop.address(path))
        assert (seen.slug, seen.banner, seen.count) == (path, None, before[path])
    rebuilt = {path for path, count in shop.counts().items() if count != before.get(path)}
    showing = {route["slug"] for route in stack.ledger.routes() if "banner-sale" in route["dependencies"]}
    assert rebuilt == showing


def test_an_unpublished_page_is_gone_and_its_404_counts_as_revalidated(stack, shop, browser):
    path = "/how-to-brew"
    assert browser.open(shop.address(path)).title == "How to brew"
    edit = stack.delete("brewing", send=False)
    assert browser.open(shop.address(path)).status == 200
    sent(stack, edit)
    seen = browser.open(shop.address(path))
    browser.keep("unpublished")
    assert (seen.status, seen.title) == (404, "There is no page here")

    (wake,) = [one for one in stack.ledger.history("brewing") if edit.event_id in one["events"]]
    storefront = wake["layers"]["storefront"]
    assert wake["slugs"] == [path]
    assert (storefront["confirmed"], storefront.get("refused", [])) == (1, [])
    assert stack.ledger.plan("brewing") == [], "nothing is left to purge"


def test_a_renamed_slug_works_at_its_new_path_and_is_gone_at_the_old(stack, shop, browser):
    old, new = "/coffee/beans", "/coffee/beans/whole"
    assert browser.open(shop.address(old)).status == 200
    assert browser.open(shop.address(new)).status == 404, "and so cached"
    sent(stack, stack.edit("beans", path=new, send=False))
    at_new = browser.open(shop.address(new))
    browser.keep("renamed-new-path")
    assert (at_new.status, at_new.title, at_new.slug) == (200, "Beans", new)
    assert browser.open(shop.address(old)).status == 404
    browser.keep("renamed-old-path")


@pytest.mark.parametrize("folder", ["coffee", "journal"], ids=["pages-router", "app-router"])
def test_a_slug_with_spaces_and_letters_beyond_ascii(stack, shop, browser, folder):
    path, document = f"/{folder}/Caffè crème, 100 % à la carte, кофе", f"odd-{folder}"
    assert browser.open(shop.address(path)).status == 404, "and so cached"
    for title in ("Caffè crème", "Caffè crème, edited"):
        sent(stack, stack.edit(document, "article", path, title=title, send=False))
        seen = browser.open(shop.address(path))
        assert (seen.status, seen.title, seen.slug) == (200, title, path)
    browser.keep(f"odd-slug-{folder}")


@pytest.fixture
def configured(stack):
    """Sets environment variables of the consumer for one test."""
    before = stack.functions.environment("ConsumerFunction")
    changed: dict[str, str] = {}

    def configure(**variables: str) -> None:
        changed.update({name: before[name] for name in variables})
        stack.functions.configure("ConsumerFunction", **variables)

    yield configure
    stack.functions.configure("ConsumerFunction", **changed)


@pytest.fixture
def graphql(stack):
    """The GraphQL server, well again after the test."""
    yield stack.stellate
    stack.stellate.recover()


def test_a_revalidation_that_joins_an_older_render_is_made_once_more(
    stack, shop, browser, configured, graphql
):
    """Next.js lets it join a render of the page that is under way, whatever that has read, and says it is done."""
    path = "/late"
    stack.lake.put({"_id": "late", "_type": "page", "title": "Late", "slug": slug(path)})
    stack.rebuild("a page that nobody has visited yet", ids=["late"])
    configured(REPEAT_OUTER_LAYERS="true")
    # Longer than an edit takes to the storefront, shorter than the consumer waits for it.
    graphql.fail(match=f'"{path}"', hold_ms=8000)
    with ThreadPoolExecutor(1) as pool:
        visitor = pool.submit(shop.visit, path)
        wait_until(lambda: graphql.log()[-1].get("held"), 20, "a visitor's render has read the old page")
        edit = stack.edit("late", title="Late, edited")
        assert visitor.result() == {path: 200}
    stack.wait_state(edit, "applied", APPLIED_SECONDS)
    wait_until(lambda: browser.open(shop.address(path)).title == "Late, edited", 30, "the page is fresh")


@pytest.mark.parametrize(
    "path", ["/journal/grinding", "/journal/print/grinding"], ids=["its-page", "by-tag-only"]
)
def test_the_app_router_expires_its_tags_and_renders_at_the_next_visit(
    stack, shop, browser, configured, path
):
    configured(STOREFRONT_URL=f"{shop.url}/journal")
    old = browser.open(shop.address(path))
    edit = stack.edit("grinding", title=f"{old.title}, by tag", send=False)
    assert browser.open(shop.address(path)) == old
    sent(stack, edit)
    assert shop.counts()[path] == old.count, "not before somebody asks for it"
    new = browser.open(shop.address(path))
    assert (new.title, new.count) == (f"{old.title}, by tag", old.count + 1), (
        "whoever asks first sees it already"
    )
