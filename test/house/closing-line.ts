import type { Reporter, TestModule } from 'vitest/node';

/** Prints one last line that a script or a hurried reader can trust: `tests: 12 passed, 0 failed`. */
export const closingLine = (): Reporter => ({
  onTestRunEnd(modules, unhandledErrors) {
    const states = modules.flatMap(statesOf);
    const count = (state: string) => states.filter((one) => one === state).length;
    // A file that does not load and an error outside any test hold no failed test of their own.
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = count('failed') + broken + unhandledErrors.length;
    const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
    console.log(`tests: ${count('passed')} passed, ${failed} failed${skipped}`);
  },
});

const statesOf = (module: TestModule): string[] =>
  [...module.children.allTests()].map((test) => test.result().state);
