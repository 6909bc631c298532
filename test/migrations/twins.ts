import { globSync, readFileSync } from 'node:fs';
import type pg from 'pg';

/** Creates twins, each of which fails when it is called. */
const PLANT = `
  create schema evil;
  grant usage on schema evil to public;
  create function evil.caught() returns void language plpgsql as $$ begin raise 'a twin was called'; end $$;
  do $plant$
  declare
    twin record;
  begin
    for twin in
      select p.proname, p.proretset, format_type(p.prorettype, null) as result,
             pg_get_function_identity_arguments(p.oid) as arguments
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a') and p.proname = any($1)
    loop
      begin
        execute format('create function evil.%I(%s) returns %s%s language plpgsql as
          ''begin perform evil.caught(); return%s; end''', twin.proname, twin.arguments,
          case when twin.proretset then 'setof ' else '' end, twin.result,
          case when twin.proretset then '' else ' null' end);
      exception when others then null;
      end;
    end loop;
    for twin in
      select o.oprname, format_type(o.oprleft, null) as left_type, format_type(o.oprright, null) as right_type,
             format_type(o.oprresult, null) as result
        from pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft <> 0
          and o.oprname = any(array['=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '||', '->', '->>',
            '?', '?|', '~', '@?', '@>', '#>>'])
    loop
      begin
        execute format('create function evil.apply(a %s, b %s) returns %s language plpgsql as
          ''begin perform evil.caught(); return null; end''', twin.left_type, twin.right_type, twin.result);
      exception when others then null;
      end;
      begin
        execute format('create operator evil.%s (leftarg = %s, rightarg = %s, function = evil.apply)', twin.oprname,
          twin.left_type, twin.right_type);
      exception when others then null;
      end;
    end loop;
    create domain evil.text as integer;
    create domain evil.jsonb as integer;
    create domain evil.timestamptz as integer;
    create domain evil.float8 as integer;
  end $plant$`;

/** Returns every name in our SQL that is followed by a parenthesis; built-in functions get a twin. */
function calledNames(): string[] {
  const texts = globSync(['migrations/*.sql', 'core/**/*.ts']).map((file) => readFileSync(file, 'utf8'));
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\b([a-z_]+)\(/g)].map(([, name]) => name ?? '')))];
}

/** Creates a schema `evil` with a twin of everything that our SQL names, and returns the number of its functions. */
export async function plantTwins(owner: Pick<pg.Client, 'query'>): Promise<number> {
  await owner.query(PLANT.replace('$1', `'{${calledNames().join(',')}}'`));
  const { rows } = await owner.query(
    `select count(*)::int as n from pg_proc where pronamespace = 'evil'::regnamespace`,
  );
  return rows[0].n;
}
