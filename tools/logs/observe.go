package logs

// Observation is what the model is shown.
type Observation struct {
	Scope           ScopeView     `json:"scope"`
	Patterns        []PatternView `json:"patterns"`
	PatternsOmitted int           `json:"patterns_omitted,omitzero"`
	Events          []EventView   `json:"events"`
	Note            string        `json:"note,omitzero"`
}

// ScopeView says what was searched.
type ScopeView struct {
	Topics  []string   `json:"topics"`
	From    string     `json:"from"`
	To      string     `json:"to"`
	Query   string     `json:"query,omitzero"`
	Level   string     `json:"level,omitzero"`
	Covered *RangeView `json:"covered,omitempty"`
}

// RangeView is a part of time: from inclusive, to exclusive.
type RangeView struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// PatternView is a pattern of messages: how often, when first and last.
type PatternView struct {
	ID       string   `json:"id"`
	Count    int64    `json:"count"`
	Level    string   `json:"level,omitzero"`
	Topic    string   `json:"topic,omitzero"`
	Template string   `json:"template"`
	First    string   `json:"first"`
	Last     string   `json:"last"`
	Values   []Values `json:"values,omitempty"`
}

// EventView is one event.
type EventView struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Topic   string `json:"topic,omitzero"`
	Level   string `json:"level,omitzero"`
	Service string `json:"service,omitzero"`
	Message string `json:"message"`
	Pattern string `json:"pattern"`
	Stack   string `json:"stack,omitzero"`
}
