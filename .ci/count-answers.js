// Counts the answers of the API from the output of npm start: `count-answers.js <output> <openapi.json>`. Fails for an
// operation that never succeeded or that answered with 5xx.
import { readFileSync } from 'node:fs';

const [output, contract] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
const { paths } = JSON.parse(contract);
const operations = Object.entries(paths)
  .sort(([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')))
  .flatMap(([path, methods]) => {
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return Object.keys(methods).map((method) => ({ name: `${method.toUpperCase()} ${path}`, method, pattern }));
  });

const counts = new Map(operations.map(({ name }) => [name, new Map()]));
let total = 0;
for (const [, verb, path, status] of output.matchAll(/ (\w+) (\/\S*) answered (\d{3}) /g)) {
  total += 1;
  const operation = operations.find((one) => one.method === verb.toLowerCase() && one.pattern.test(path));
  const statuses = counts.get(operation?.name) ?? counts.set('others', counts.get('others') ?? new Map()).get('others');
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

for (const [name, statuses] of counts) {
  const counted = [...statuses].sort().map(([status, count]) => `${status}: ${count}`);
  console.log(`${name.padEnd(36)} ${counted.join('  ')}`);
}
const failing = [...counts].filter(([, statuses]) => [...statuses.keys()].some((status) => status.startsWith('5')));
const never = [...counts].filter(([name, statuses]) => {
  return name !== 'others' && ![...statuses.keys()].some((status) => status.startsWith('2'));
});
console.log(`${total} requests, ${failing.length} operations with 5xx, ${never.length} that never succeeded`);
for (const [name] of [...failing, ...never]) console.log(`failed: ${name}`);
process.exitCode = failing.length + never.length > 0 ? 1 : 0;
