export function Missing() {
  return (
    <>
      <header className="top">
        <a className="brand" href="/">
          Shop
        </a>
      </header>
      <main data-testid="missing">
        <p className="kind">404</p>
        <h1>There is no page here</h1>
        <p className="text">
          It may have been unpublished, or moved. The <a href="/">overview</a> lists the pages there are.
        </p>
      </main>
    </>
  )
}
