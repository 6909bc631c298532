/** One thing that was looked at. `next`: the command for whoever finds it wrong. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly next?: string;
}

/** Fine when nothing is in the list. */
export function listed(check: string, wrong: readonly string[], next: string, fine = 'none'): Finding {
  return { check, ok: wrong.length === 0, detail: wrong.length === 0 ? fine : wrong.join(', '), next };
}
