import type { Reporter, TestModule } from 'vitest/node';

/** Prints a last line with the counts, for scripts: `tests: 12 passed, 0 failed`. */
export const closingLine = (): Reporter => ({
  onTestRunEnd(modules, unhandledErrors) {
    const states = modules.flatMap(statesOf);
    const count = (state: string) => states.filter((each) => each === state).length;
    // A file that does not load and an error outside tests are not in the count of failed tests.
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = count('failed') + broken + unhandledErrors.length;
    const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
    console.log(`tests: ${count('passed')} passed, ${failed} failed${skipped}`);
  },
});

const statesOf = (module: TestModule): string[] =>
  [...module.children.allTests()].map((test) => test.result().state);
