// One page of the shop, for both routers. The plate at its end says when it was built, and from what.

const time = (iso) => iso.slice(11, 23)

export function Sheet({ slug, page, build }) {
  const { menu, banner, footer } = page
  return (
    <>
      <header className="top">
        <a className="brand" href="/">
          {menu?.title ?? 'Shop'}
        </a>
        <nav>
          {(menu?.items ?? []).map((item) => (
            <a key={item.slug} href={encodeURI(item.slug)} aria-current={item.slug === slug ? 'page' : undefined}>
              {item.label}
            </a>
          ))}
        </nav>
      </header>
      {banner && (
        <aside className="banner" data-testid="banner">
          <strong>{banner.title}</strong>
          {banner.text && <span>{banner.text}</span>}
        </aside>
      )}
      <main>
        <p className="kind">
          {page.__typename}
          {page.category && <> in {page.category.title}</>}
          {page.author && <> by {page.author.title}</>}
        </p>
        <h1 data-testid="title">{page.title}</h1>
        {page.price && <p className="price">{page.price}</p>}
        <p className="text">{page.text ?? 'Nothing more is written about this yet.'}</p>
      </main>
      <Plate slug={slug} page={page} build={build} />
      <footer>{footer?.title ?? 'A shop that exists to be edited.'}</footer>
    </>
  )
}

function Plate({ slug, page, build }) {
  return (
    <dl className="plate" data-testid="plate">
      <Entry name="Rendered">
        <b data-testid="count">{build.count}</b> {build.count === 1 ? 'time' : 'times'}
      </Entry>
      <Entry name="Last at (UTC)">
        <span data-testid="at">{time(build.at)}</span>
      </Entry>
      <Entry name="GraphQL answered from">{build.fromCache ? 'its cache' : 'the source'}</Entry>
      <Entry name="Revision">
        <code data-testid="revision">{page._rev}</code>
      </Entry>
      <Entry name="Path">
        <span data-testid="slug">{slug}</span>
      </Entry>
      <Entry name="Built by">{build.router}</Entry>
    </dl>
  )
}

const Entry = ({ name, children }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
