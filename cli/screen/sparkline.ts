const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NOTHING = '·';

/**
 * Returns a graph of counts in one line of at most `width` characters, each of which adds up the same number of counts,
 * except the last one. The largest sum is `█`; zero is `·`.
 */
export function sparkline(counts: readonly number[], width: number): string {
  const each = Math.max(1, Math.ceil(counts.length / width));
  const sums = Array.from({ length: Math.ceil(counts.length / each) }, (_, at) =>
    counts.slice(at * each, (at + 1) * each).reduce((sum, count) => sum + count, 0),
  );
  const largest = Math.max(...sums);
  const levelOf = (sum: number) => LEVELS[Math.ceil((sum / largest) * LEVELS.length) - 1] ?? NOTHING;
  return sums.map((sum) => (sum > 0 ? levelOf(sum) : NOTHING)).join('');
}
