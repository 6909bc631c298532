import { describe, expect, it } from 'vitest';
import { readAddress } from '../../../cli/target/database-address.ts';
import { serversOf } from '../../../core/postgres/address.ts';

const label = (address: string) => readAddress(address, 'DATABASE_URL').label;

describe('the label of an address', () => {
  it.each([
    'postgres://u:p@good.example/x?host=evil.example',
    'postgres://u:p@127.0.0.1:54329/x?host=evil.example&port=1',
    'postgres://u:p@good.example:1/x?port=2',
    'postgres://u:p@good.example/?dbname=other',
    'postgres://u:p@good.example/x?host=/run/postgresql',
  ])('is the server and the database that get the password: %s', (address) => {
    const [{ host, port, database }] = serversOf(address);

    expect(label(address)).toMatch(new RegExp(`^${host}(:${port})?/${database}$`));
  });

  it.each([
    ['postgres://u:p@db/x', 'db/x'],
    ['postgres://u:p@db:5432/x', 'db:5432/x'],
    ['postgres://u:p@[::1]:5433/x', '[::1]:5433/x'],
    ['postgres:///x?password=p', 'localhost/x'],
    ['postgres://u:p@db/a%0Aerror:%1Bb', 'db/a error:\ufffdb'],
  ])('of %s is %s', (address, expected) => {
    expect(label(address)).toBe(expected);
  });

  it.each(['postgres://u:p%zz@db/x', 'postgres://u:p@db/%zz'])('is not made from an address such as %s', (address) => {
    expect(() => label(address)).toThrow(/^DATABASE_URL: a % in the address must be written as %25/);
  });
});

describe('an address whose password contains a character that must be encoded', () => {
  it.each([
    'postgres://ada:pa@ss/word@db.example.com/prod',
    'postgres://ada:pa@ss?word@127.0.0.1:1/prod',
    'postgres://ada:pa@ss?wo=rd@127.0.0.1:1/prod',
    'postgres://ada:pa@ss?user@127.0.0.1:1/prod',
    'postgres://ada:pa@ss/wo?rd@db/prod',
    'postgres://ada:pa@ss/prod?sslmode=disable&word@db/prod',
    'postgres://ada:pa@ss#word@db/prod',
    'postgres://ada:12/word@db/prod',
  ])('is refused before a part of it is shown or looked up: %s', (address) => {
    expect(() => label(address)).toThrow(
      /^DATABASE_URL: a # \? \/ or @ in the password must be written as %23 %3F %2F %40; expected [^@]+@host:5432\/name$/,
    );
    expect(() => serversOf(address)).toThrow(/^the address of the database: expected [^@]+@host:port\/name/);
  });

  it.each([
    'postgres://ada:pa@ss@db/prod',
    'postgres://ada:pa%40ss%2Fword@db/pr%40od',
    'postgres://db/prod?user=ada@tenant&password=pa@ss',
    'postgres://ada@db/prod?options=-c%20a.b=c@d&application_name=me@here',
  ])('is used if the server and the password are clear: %s', (address) => {
    expect(label(address)).toMatch(/^db\/pr@?od$/);
  });
});
