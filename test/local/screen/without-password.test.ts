import { expect, it } from 'vitest';
import { withoutPassword } from '../../../local/screen/without-password.ts';

it.each([
  ['postgres://ada:secret@db:5432/app', 'postgres://ada@db:5432/app'],
  ['postgres://ada@db/app?password=secret&sslmode=require', 'postgres://ada@db/app?sslmode=require'],
  ['postgres://ada@db/app', 'postgres://ada@db/app'],
])('an address is shown without its password: %s', (address, shown) => {
  expect(withoutPassword(address)).toBe(shown);
});
