/** Selects a page: the rows with ids below `before`, newest first, without the first `skip` rows. */
export interface PageWish {
  readonly before?: string | undefined;
  readonly skip?: number;
  readonly limit: number;
  /** Rows that one statement scans. Default: 20,000. */
  readonly windowRows?: number;
}

/** Number of rows that one statement scans, whether or not they match the filter. */
const WINDOW_ROWS = 20_000;
/** Largest number of windows that one page scans. The page then ends, with few rows or none, and has a next page. */
const MOST_WINDOWS = 10;

/** The next rows to scan, some of which match. */
export interface Window {
  /** Scan below this id; undefined to begin at the newest row. */
  readonly before: string | undefined;
  readonly rows: number;
  /** Largest number of matches to return. */
  readonly most: number;
}

interface Matches<Row> {
  readonly matches: readonly Row[];
  /** Returns the id of the last row of the window; undefined if the table ends before it. */
  readonly end: () => Promise<string | undefined>;
}

/** Reads windows, newest first, until a page is full. The returned `next` is the `before` of the next page. */
export async function readWindows<Row extends { id: string }>(
  { before, skip = 0, limit, windowRows = WINDOW_ROWS }: PageWish,
  read: (window: Window) => Promise<Matches<Row>>,
): Promise<{ rows: readonly Row[]; next: string | undefined }> {
  const wanted = skip + limit;
  const found: Row[] = [];
  let from = before;
  for (let window = 0; window < MOST_WINDOWS; window++) {
    const { matches, end } = await read({ before: from, rows: windowRows, most: wanted + 1 - found.length });
    found.push(...matches);
    if (found.length > wanted) return { rows: found.slice(skip, wanted), next: found[wanted - 1]?.id };
    from = await end();
    if (from === undefined) break;
  }
  return { rows: found.slice(skip), next: from };
}
