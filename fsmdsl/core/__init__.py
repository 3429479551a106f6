"""What a model means and no state decides, worked out once for all that read it.

Which transitions come into question where, in which order, and what each leaves and enters (`selection`, on top of
`hierarchy` and `priority`); what guards say of one another (`guards`); what conditions say of values that may be none
(`presence`); what `let`s use (`lets`). Everything here is a function of the model alone.

On top of these, `translate` translates every step into core `statements`, which leave nothing to decide; `show` prints
them.

`step`, the definition of the language, does not read this package: it works out the same from the model, and tests
compare the two.
"""
