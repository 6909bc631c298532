/** Removes the password from an address, because the output of `npm start` may be stored in a log. */
export function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  if (url.searchParams.has('password')) url.searchParams.delete('password');
  return url.href;
}
