import { expect, it } from 'vitest';
import { LOG_EVENTS, LOG_FIELDS } from '../../core/log-table.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE, PROMETHEUS_METRICS } from '../../core/numbers/metric-table.ts';
import { readDocument, section, tableBelow } from './documents.ts';

const page = readDocument('docs/numbers.md');
const code = (words: readonly string[], between = ' ') => words.map((word) => `\`${word}\``).join(between);

it('docs/numbers.md lists every metric of /metrics', () => {
  const rows = Object.entries(PROMETHEUS_METRICS).map(([name, { type, labels, help }]) => {
    return [`\`${name}\``, type, code(labels), help];
  });

  expect(tableBelow(page, 'Prometheus')).toEqual(rows);
});

it('docs/numbers.md lists every metric of CloudWatch, and their namespace', () => {
  const rows = Object.entries(CLOUDWATCH_METRICS).map(([name, { unit, dimensions, from }]) => {
    return [
      `\`${name}\``,
      unit,
      code(
        dimensions.map((some) => some.join(', ')),
        ' and ',
      ),
      from,
    ];
  });

  expect(tableBelow(page, 'CloudWatch')).toEqual(rows);
  expect(section(page, 'CloudWatch').text).toContain(`namespace \`${CLOUDWATCH_NAMESPACE}\``);
});

it('docs/numbers.md lists every field and every event of the log', () => {
  const fields = Object.entries(LOG_FIELDS).map(([name, { type, help }]) => [`\`${name}\``, type, help]);
  const events = Object.entries(LOG_EVENTS).map(([name, some]) => [`\`${name}\``, code(some)]);

  expect(tableBelow(page, 'Log lines')).toEqual(fields);
  expect(tableBelow(page, 'Log events')).toEqual(events);
});
