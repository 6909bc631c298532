/** The permissions of an API key. */
export const SCOPES = [
  'jobs:enqueue',
  'jobs:read',
  'jobs:operate',
  'jobs:delete',
  'payload:read',
  'metrics:read',
  'audit:read',
  'keys:admin',
] as const;

export type Scope = (typeof SCOPES)[number];

/** Names for common sets of scopes. */
export const ROLES = {
  producer: ['jobs:enqueue'],
  viewer: ['jobs:read', 'metrics:read'],
  operator: ['jobs:read', 'metrics:read', 'jobs:operate', 'payload:read'],
  admin: SCOPES,
} as const satisfies Record<string, readonly Scope[]>;

export type ApiRole = keyof typeof ROLES;

/** The paths of the operations that require no scope: a gateway that verifies callers lets these requests pass. */
export const OPEN_PATHS: readonly string[] = ['/healthz', '/readyz', '/openapi.json', '/docs'];

/** Expands scopes and roles to scopes; undefined if a word is neither. */
export function expandScopes(words: readonly string[]): Scope[] | undefined {
  const scopes = new Set<Scope>();
  for (const word of words) {
    const some = isRole(word) ? ROLES[word] : SCOPES.filter((scope) => scope === word);
    if (some.length === 0) return undefined;
    for (const scope of some) scopes.add(scope);
  }
  return [...scopes];
}

function isRole(word: string): word is ApiRole {
  return Object.hasOwn(ROLES, word);
}
